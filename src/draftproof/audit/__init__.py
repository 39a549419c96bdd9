"""Audit: does another sampler follow the target, and if not, which bug is it."""
