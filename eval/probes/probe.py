"""What a probe is: what it asks of a world, the rows it adds to tables and pages, and the measurement."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from models.abilities import JudgesClips

KINDS = ("score", "ceiling", "comparison", "floor", "health")
# others say their name
EVENTS = {"contact": "bodies touch", "push": "a block is pushed", "effect": "something follows", "moved": "a block moves"}


@dataclass(frozen=True)
class Row:
    """One line of the tables.

    key: of the metric in results.json; one that ends in "/" is followed by a horizon, h1; "{event}" in it stands for every
    event of the data, "{cause}" for every cause that was set.  kind: score; what bounds one: ceiling, comparison, floor; health
    of the latents.  of: the key of the score that it bounds.  short: its name where there is little room; none: the label.
    horizons: those at which pages that compare runs show it, first and last; none said: both of a score, none of others.
    percent: from 0 to 100; else any number.  scale, digits: how it is printed.  unit: what captions say where the label does
    not.
    """

    key: str
    label: str
    kind: str = "score"
    of: str = ""
    higher_is_better: bool = True
    short: str = ""
    horizons: tuple[str, ...] | None = None
    percent: bool = True
    scale: float = 1.0
    digits: int = 2
    unit: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"row '{self.key}' has no kind '{self.kind}'; known: {', '.join(KINDS)}")

    @property
    def name(self) -> str:
        """Where there is little room."""
        return self.short or self.label

    def compared(self, horizons: list[str]) -> dict[str, str]:
        """The columns in which pages show it for runs with these horizons, h1 and so on: column -> metric."""
        asked = self.horizons if self.horizons is not None else ("first", "last") if self.kind == "score" else ()
        if not self.key.endswith("/"):
            return {self.name: self.key} if asked else {}
        ends = {"first": horizons[0], "last": horizons[-1]}
        return {f"{self.name} {ends[end]}": self.key + ends[end] for end in asked}

    def of_event(self, event: str) -> "Row":
        """The row of one event."""
        return self._filled(event=(event, EVENTS.get(event, event.replace("_", " "))))

    def of_cause(self, cause: str) -> "Row":
        """The row of one cause."""
        return self._filled(cause=(cause.replace(" ", "_"), cause))

    def _filled(self, **names: tuple[str, str]) -> "Row":
        """names: what stands in braces -> what stands for it in keys, and in labels."""
        keys, words = ({name: pair[i] for name, pair in names.items()} for i in (0, 1))
        return replace(self, key=self.key.format(**keys), label=self.label.format(**words), of=self.of.format(**keys), short="",
                       horizons=())  # fmt: skip


@dataclass(frozen=True)
class Probe:
    """A measurement of a run on held-out episodes. Called with (run, data) it gives metrics, name -> number.

    needs: protocols of envs/protocols.py that the world must answer.  unless: says why a run cannot be asked although its
    world answers, or nothing.  measure: None where another command measures what the rows show.  by_name: only asked by its
    name, as it takes long.
    """

    name: str
    home: str
    needs: tuple[type, ...]
    rows: tuple[Row, ...]
    measure: Callable[..., dict[str, float]] | None
    unless: Callable[..., str | None]
    by_name: bool = False

    def why_not(self, run) -> str | None:
        """Why this run cannot be asked, to follow the name of the probe; None where it can."""
        if self.measure is None:
            return "is measured by another command"
        world = run.world
        lacking = {protocol.__name__: _missing(world, protocol) for protocol in self.needs if not isinstance(world, protocol)}
        if lacking:
            names = ", ".join(dict.fromkeys(name for members in lacking.values() for name in members))
            without = f" (it has no {names})" if names else ""
            return f"asks a world for {' and '.join(lacking)}, which {type(world).__name__} does not answer{without}"
        return self.unless(run)

    def __call__(self, run, data) -> dict[str, float]:
        """Metrics of a `Run` on a `Data`."""
        return self.measure(run, data)


def _missing(world, protocol: type) -> list[str]:
    """Members of a protocol that a world lacks; none of a class, to which members alone do not make it."""
    if not getattr(protocol, "_is_protocol", False):
        return []
    members = {name for base in protocol.__mro__ for name in [*vars(base), *vars(base).get("__annotations__", {})]}
    return sorted(name for name in members - set(dir(world)) if not name.startswith("_"))


def probe(
    needs: tuple[type, ...] = (), rows: tuple[Row, ...] = (), unless: Callable[..., str | None] = lambda run: None,
    by_name: bool = False,
):  # fmt: skip
    """Makes a probe of a function (run, data) -> metrics, named as the function is."""

    def made(measure: Callable[..., dict[str, float]]) -> Probe:
        return Probe(measure.__name__, measure.__module__, needs, rows, measure, unless, by_name)

    return made


def no_forecast(run) -> str | None:
    """Why a run is not asked what comes next."""
    return "asks for predicted frames, and the model judges whole clips" if isinstance(run.model, JudgesClips) else None


def bounds(score: str, *rows: tuple[str, str, str], horizons: tuple[str, ...] = ()) -> tuple[Row, ...]:
    """Rows that bound a score: (key, label, kind) each."""
    return tuple(Row(key, label, kind, score, horizons=horizons) for key, label, kind in rows)
