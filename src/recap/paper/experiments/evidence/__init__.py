"""What the relation evidence is made of, and where it can be trusted."""
