"""The paper: its experiments, suites and printed numbers, and the run that sets ours beside them."""
