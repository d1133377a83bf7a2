"""Tests of minutes are not imported where they are not asked: their imports take seconds. Some share a browser."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


def pytest_ignore_collect(config):
    return True if config.option.markexpr == "not slow" else None


@pytest.fixture(scope="session")
def chromium():
    """Debian's Chromium, without a window."""
    driver = pytest.importorskip("playwright.sync_api", reason="the browser tests need the packages of '.[dev]'")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium; install it with: apt-get install chromium")
    with driver.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()
