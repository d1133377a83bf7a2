"""Transitions: one step of the world in latent space."""
