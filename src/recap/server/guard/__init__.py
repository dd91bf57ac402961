"""The guard: another server's chat completions, passed through, with the spatial claims of its answers audited."""
