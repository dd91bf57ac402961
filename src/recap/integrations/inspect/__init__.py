"""Inspect (`inspect_ai`): the scorer `recap/audit`, the task `recap/spatial`, and the model provider `recap`."""
