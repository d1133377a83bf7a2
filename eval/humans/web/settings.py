"""What a server of a study is told when it starts."""

from dataclasses import dataclass, field

from envs.problem import Problem
from eval.humans.passwords import Passwords

SHORTEST_ADMIN = 12  # characters


@dataclass(frozen=True)
class Settings:
    """secret: key of tokens and codes, the same over the whole study; admin_password: of the pages of the admin.

    dev: plain HTTP is served too, on this machine alone; proxies: reverse proxies in front, whose X-Forwarded headers count;
    contact: whom participants may ask; block_narrow: refuse the test below 600 px width, where otherwise a notice stands;
    passwords: cost of hashing.
    """

    secret: bytes
    admin_password: str
    dev: bool = False
    proxies: int = 0
    contact: str = ""
    block_narrow: bool = False
    passwords: Passwords = field(default_factory=Passwords)

    def __post_init__(self) -> None:
        if len(self.admin_password) < SHORTEST_ADMIN:
            raise Problem(f"the environment variable HUMANS_ADMIN_PASSWORD has {len(self.admin_password)} characters; choose a "
                          f"password of at least {SHORTEST_ADMIN}")  # fmt: skip
