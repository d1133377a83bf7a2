"""TriFinger: the protocols, the policies that they run, and their pictures."""
