"""Composable configuration: one small yaml per command, plus one folder per group."""
