"""The service: an HTTP API, a page, and a guard in front of another server."""
