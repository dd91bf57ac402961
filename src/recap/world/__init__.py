"""The embedded world: generated pictures, benchmarks of them, and two small models trained on them."""
