"""Objectives: what a world model is trained for."""
