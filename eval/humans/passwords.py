"""Makes passwords and payment codes that people can type, and checks passwords against their argon2 hashes."""

import hashlib
import hmac
import os
import secrets
import string
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from envs.problem import Problem
from envs.whole_files import write_whole

LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"  # none that look alike
HANDLE, SECRET = 4, 12  # letters; 31 ** 12 is 59 bits, and logins are limited
SHORTEST_SECRET = 32  # characters
SECRET_FILE = "secret.digest"  # in the folder of a study
CODE = 20  # letters and digits of a payment code
ALPHANUMERIC = string.ascii_uppercase + string.digits


class Passwords:
    """Hashes and checks passwords. time_cost, memory_kib: of argon2id; the defaults take about 30 ms of one core."""

    def __init__(self, time_cost: int = 2, memory_kib: int = 19456) -> None:
        self.hasher = PasswordHasher(time_cost=time_cost, memory_cost=memory_kib, parallelism=1)
        self.nobody = self.hasher.hash(secrets.token_hex())

    def new(self) -> tuple[str, str, str]:
        """Handle, password and hash: 'K7QF', 'K7QF-8XW2-MPA4-T9RC' and what is stored."""
        drawn = "".join(secrets.choice(LETTERS) for _ in range(HANDLE + SECRET))
        return drawn[:HANDLE], "-".join(drawn[i : i + 4] for i in range(0, len(drawn), 4)), self.hasher.hash(drawn)

    def right(self, password: str, stored: str | None) -> bool:
        """Whether a password is that of a stored hash; without one it takes as long, so that time does not tell."""
        try:
            return self.hasher.verify(stored or self.nobody, letters_of(password)) and stored is not None
        except (VerifyMismatchError, InvalidHashError):
            return False


def letters_of(password: str) -> str:
    """A password as it was drawn, whatever case, spaces and dashes it was typed with."""
    return "".join(c for c in password.upper() if c in LETTERS)[: HANDLE + SECRET + 1]


def digest(cookie: str) -> str:
    """What the database keeps of a random cookie."""
    return hashlib.sha256(cookie.encode()).hexdigest()


def keyed(secret: bytes, *parts: object) -> bytes:
    """32 bytes that only the holder of the secret can compute from the parts."""
    return hmac.digest(secret, "\0".join(map(str, parts)).encode(), "sha256")


def payment_code(secret: bytes, cookie_hash: str) -> str:
    """The 20 letters and digits of whoever holds a cookie: computed again at a second click, stored nowhere in clear.

    The cookie is random (256 bits of `secrets`) and its row is erased with the answers, so the code leads to nobody.
    """
    number, code = int.from_bytes(keyed(secret, "payment", cookie_hash)), ""
    for _ in range(CODE):
        number, letter = divmod(number, len(ALPHANUMERIC))
        code += ALPHANUMERIC[letter]
    return code


def check_secret(folder: Path, secret: bytes) -> None:
    """Raise Problem on another secret than the first one of a study, under which no participant would find their payment code.

    folder: of the study, which keeps a digest of the first one.
    """
    path, own = folder / SECRET_FILE, keyed(secret, "study").hex()
    if not path.exists():
        write_whole(path, own)
    elif not hmac.compare_digest(path.read_text(), own):
        raise Problem(f"HUMANS_SECRET is another than the one that {folder} was begun with, under which payment codes are "
                      f"known; set that one, or, where it is lost with the codes that were given, remove {path}")  # fmt: skip


def secret_of_environment() -> bytes:
    """HUMANS_SECRET, the key of clip names, forms and payment codes; the same from the first invitation to the last export."""
    found = os.environ.get("HUMANS_SECRET", "")
    if len(found) < SHORTEST_SECRET:
        raise Problem(f"the environment variable HUMANS_SECRET has {len(found)} characters, not at least {SHORTEST_SECRET}; "
                      'make one with: python -c "import secrets; print(secrets.token_hex())"')  # fmt: skip
    return found.encode()
