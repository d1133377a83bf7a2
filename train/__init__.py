"""The training command and its parts."""
