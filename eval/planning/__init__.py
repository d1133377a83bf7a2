"""Reaching goals: tasks, policies and what tells them how far a goal is."""
