"""What comes in from strangers: bodies and pictures, within budgets of memory and time."""
