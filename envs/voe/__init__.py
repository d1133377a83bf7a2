"""Violation of expectation: videos that are expected, surprising, or surprising to the eye alone."""
