"""Other risks that claim to do the same."""
