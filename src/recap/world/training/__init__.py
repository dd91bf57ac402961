"""Training the bundled models. The product needs none of it."""
