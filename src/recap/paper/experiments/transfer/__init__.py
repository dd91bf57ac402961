"""Policies and evidence carried over to other families, benchmarks, wordings and models."""
