"""What participants are asked to assume about the scenes, for all kinds and for some."""

GENERAL = (
    "All objects have the same density.",
    "Every object is equally dense throughout.",
    "The colour of an object does not matter.",
    "Objects are lifeless and do not move by themselves.",
)
OF_KINDS = (  # kinds, sentence
    (("containment", "support"), "The object is dropped from a height."),
    (("occlusion", "collision", "barrier"), "The object comes in with a speed that something outside gave it."),
    (("occlusion", "containment", "barrier"), "The blue plane may move; its motion is always expected."),
)
NO_TRICKS = "In expected videos there are no tricks and nothing impossible."


def assumptions_of(kind: str) -> list[str]:
    """Those of one kind of scene."""
    return [*GENERAL, *(sentence for kinds, sentence in OF_KINDS if kind in kinds), NO_TRICKS]


def assumptions_of_all() -> list[tuple[str, str]]:
    """(kinds or "", sentence) for a page that does not tell its kind."""
    own = [(_listed([kind.capitalize() for kind in kinds]), sentence) for kinds, sentence in OF_KINDS]
    return [*(("", sentence) for sentence in (*GENERAL, NO_TRICKS)), *own]


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]])
