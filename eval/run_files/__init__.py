"""What the files of a run folder may say and must hold."""
