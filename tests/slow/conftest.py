"""Tests of minutes are not imported where they are not asked: their imports take seconds."""


def pytest_ignore_collect(config):
    return True if config.option.markexpr == "not slow" else None
