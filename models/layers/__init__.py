"""Layers that parts of a model are made of."""
