"""Training the two small models, apart from the product: `python -m recap.world.training aligned --out DIR`."""
