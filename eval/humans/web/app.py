"""The web application of a study, for any WSGI server."""

import math
import time
from dataclasses import dataclass

from flask import Flask, current_app

from eval.humans.database import Database
from eval.humans.erasure import expire_due
from eval.humans.study import Study
from eval.humans.web.admin import pages as admin_pages
from eval.humans.web.clips import clips
from eval.humans.web.participants import pages
from eval.humans.web.security import secure
from eval.humans.web.settings import Settings

SWEEP_S = 60  # between two looks for invitations that have run out


@dataclass
class Trials:
    """What views find in app.extensions["trials"]."""

    database: Database
    settings: Settings
    swept: float = -math.inf


def create_app(study: Study, settings: Settings) -> Flask:
    """An app on the study's folder; several processes may serve one study."""
    app = Flask(__name__)
    app.extensions["trials"] = Trials(Database(study), settings)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals["settings"] = settings
    secure(app, settings)
    app.before_request(_sweep)
    for blueprint in (pages, clips, admin_pages):
        app.register_blueprint(blueprint)
    return app


def _sweep() -> None:
    """Erase now and then those whose invitation has run out, and what a busy reader kept in the log, whoever asks."""
    trials = current_app.extensions["trials"]
    if time.monotonic() - trials.swept > SWEEP_S:
        trials.swept = time.monotonic()
        expire_due(trials.database)
        trials.database.wipe()
