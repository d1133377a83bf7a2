"""Serves a study with gunicorn: two workers over one database, https of its own or behind a proxy, no log of visitors."""

import argparse
import os
import secrets
import socket
import ssl
from pathlib import Path

from flask import Flask
from gunicorn.app.base import BaseApplication

from envs.problem import Problem
from eval.humans.database import Database
from eval.humans.passwords import check_secret, secret_of_environment
from eval.humans.study import Study
from eval.humans.web.app import create_app
from eval.humans.web.settings import Settings

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Server(BaseApplication):
    """gunicorn with options of ours; every worker makes its own app after the fork, hence its own connections."""

    def __init__(self, study: Study, settings: Settings, options: dict) -> None:
        self.study, self.settings, self.options = study, settings, options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self.options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        return create_app(self.study, self.settings)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("study", help="folder of the study")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="(%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--cert", type=Path, help="certificate of the host, for https")
    parser.add_argument("--key", type=Path, help="its private key")
    parser.add_argument("--proxies", type=int, default=0, help="reverse proxies in front, which speak https (%(default)s)")
    parser.add_argument("--contact", default="", help="whom participants may ask, as the pages say it")
    parser.add_argument("--block-narrow", action="store_true", help="no test on screens below 600 px (else: a notice)")
    parser.add_argument("--dev", action="store_true", help="plain http on this machine alone; secrets are made up")


def run(args: argparse.Namespace) -> None:
    """Serve until a signal. Raises Problem before anything listens, where the study or the settings do not allow it."""
    _check(args)
    check_port(args.host, args.port)
    study = Study.read(args.study)
    if args.dev:
        settings = development_settings(args.contact, args.block_narrow)
        print(f"admin: http://{_address(args.host, args.port)}/admin/  password: {settings.admin_password}", flush=True)
    else:
        admin = os.environ.get("HUMANS_ADMIN_PASSWORD", "")
        settings = Settings(secret_of_environment(), admin, False, args.proxies, args.contact, args.block_narrow)
    serve(study, settings, args.host, args.port, args.workers, args.cert, args.key)


def serve(
    study: Study, settings: Settings, host: str, port: int, workers: int = 2, cert: Path | None = None, key: Path | None = None
) -> None:  # fmt: skip
    """Listen until a signal."""
    Database(study).close()  # laid, or refused, before two workers open it
    if not settings.dev:
        check_secret(study.folder, settings.secret)
    Server(study, settings, {
        "bind": _address(host, port), "workers": workers, "worker_class": "gthread", "threads": 8, "keepalive": 15,
        "accesslog": None, "errorlog": "-", "loglevel": "error", "timeout": 60,  # a warning would name an address
        "forwarded_allow_ips": "",  # who speaks https for us is told by --proxies alone
        "certfile": cert and str(cert), "keyfile": key and str(key),
    }).run()  # fmt: skip


def _address(host: str, port: int) -> str:
    """Host and port as they stand in an address of the web."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def development_settings(contact: str = "", block_narrow: bool = False) -> Settings:
    """Of --dev: what the environment does not say is made up for this start."""
    secret = os.environ.get("HUMANS_SECRET", "") or secrets.token_hex()
    admin = os.environ.get("HUMANS_ADMIN_PASSWORD", "") or secrets.token_urlsafe(12)
    return Settings(secret.encode(), admin, dev=True, contact=contact, block_narrow=block_narrow)


def check_port(host: str, port: int) -> None:
    """Raise Problem where nobody could listen."""
    if not 0 < port < 65536:
        raise Problem(f"a port is a number from 1 to 65535, got {port}; choose another --port")
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        raise Problem(f"port {port} of {host} cannot be listened at ({error.strerror}); choose another --port") from None


def _check(args: argparse.Namespace) -> None:
    for name, least in (("workers", 1), ("proxies", 0)):
        if getattr(args, name) < least:
            raise Problem(f"--{name} is a whole number of {least} or more, got {getattr(args, name)}; give another --{name}")
    if args.dev and args.host not in LOOPBACK:
        raise Problem(f"--dev serves plain http, for this machine alone, and --host is {args.host}; leave out --host or --dev")
    if args.dev and args.proxies:
        raise Problem(
            "--dev serves plain http to this machine alone, and no proxy stands in front; leave out --proxies or --dev"
        )
    if not args.dev and not args.proxies and not (args.cert and args.key):
        raise Problem("participants are served over https alone; give --cert and --key, or --proxies 1 behind a proxy that "
                      "speaks https, or try it on this machine with --dev")  # fmt: skip
    for path in (args.cert, args.key):
        if path is not None and not path.exists():
            raise Problem(f"{path} does not exist; name the certificate of the host and its key")
    if args.cert and args.key:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(args.cert, args.key)
        except ssl.SSLError as error:
            raise Problem(
                f"{args.cert} and {args.key} are no certificate and its key ({error.reason or 'no PEM'}); name others"
            ) from None
