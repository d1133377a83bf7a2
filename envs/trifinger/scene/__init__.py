"""The arena: its state as plain data, its variables, its simulation and its pictures."""
