"""The robot: its description, its joints and tips, and what actions mean to it."""
