"""What is learned: encoders, decoders, transitions and the world model made of them."""
