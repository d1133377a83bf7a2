"""Measurements: what a model knows, and what could be known."""
