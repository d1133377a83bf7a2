"""What worlds of solid bodies in space share: Bullet, rotations, cameras and renderers."""
