"""What probing costs, in calls and in time."""
