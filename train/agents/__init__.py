"""Model-free agents: how they train, what they see and what they play on."""
