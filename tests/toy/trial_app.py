"""What tests of the pages of a human trial begin from: a tiny study, its app, its database."""

import pytest
from tiny_study import tiny_study
from trial_browser import fresh_app


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A study of 14 clips a list and 4 lists."""
    return tiny_study(tmp_path_factory.mktemp("study") / "study")


@pytest.fixture
def app(built):
    """The app of a study in which nobody has taken part yet."""
    with fresh_app(built) as made:
        yield made


@pytest.fixture
def database(app):
    """Of the app."""
    return app.extensions["trials"].database
