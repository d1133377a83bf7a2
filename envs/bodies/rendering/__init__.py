"""Pictures of three-dimensional worlds: cameras, shapes, and two renderers."""
