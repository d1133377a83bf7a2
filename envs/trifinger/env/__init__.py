"""TriFinger as a Gymnasium environment, its wrappers, and recordings of it."""
