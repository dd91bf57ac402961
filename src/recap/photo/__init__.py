"""The model in the box that sees photographs: its tower, what it knows, and the checkpoints that come along."""
