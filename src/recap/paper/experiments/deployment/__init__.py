"""The policy as it is deployed: what it gains, how sure that is, and what its calibration needs."""
