"""Frames for topics that only a registry knows: their name, the tool's label, its question."""

from __future__ import annotations

import re

from study.drivers.router.frames import Topic, noun_topic, plain_topic
from study.drivers.router.lexicon import FILLERS

_WORD = re.compile(r"[a-z0-9]+(?:'s)?")
_SLOT = frozenset({"this", "that", "it"})


def foreign_topic(topic: str, label: str, question: str, *, about: bool) -> Topic:
    """Return how a topic without frames of its own is asked for.

    Parameters
    ----------
    topic, label, question : str
        As in the registry.
    about : bool
        Whether the tool takes an argument.
    """
    nouns = {" ".join(words) for text in (topic, label) if (words := _plain(text))}
    pattern = "|".join(sorted(map(_plural, nouns), key=len, reverse=True)) or r"(?!)"
    asked = _question(question)
    triggers = "|".join(sorted({re.escape(noun.split()[0][:4]) for noun in nouns} | {r"\w"}))
    if about:
        return noun_topic(pattern, triggers, *([asked] if asked and "<E>" in asked else []))
    return plain_topic(triggers, rf"(?:{pattern})", *([asked] if asked and "<E>" not in asked else []))


def _plain(text: str) -> list[str]:
    return [
        word
        for word in _WORD.findall(text.lower().replace("_", " ").replace("-", " "))
        if word not in FILLERS
    ]


def _plural(noun: str) -> str:
    stem = re.escape(noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun)
    return stem + "(?:s|es)?"


def _question(question: str) -> str | None:
    """Return the question of a capability as a frame: the pronoun is where the entity goes."""
    words = _WORD.findall(question.lower())
    parts: list[str] = []
    for n, word in enumerate(words):
        determiner = (
            word in _SLOT and n + 1 < len(words) and words[n + 1] in ("item", "thing", "one", "entity")
        )
        if word in _SLOT and "<E>" not in parts:
            parts.append("<E>")
        elif word not in FILLERS and not (
            n and words[n - 1] in _SLOT and not determiner and word in ("one",)
        ):
            parts.append(re.escape(word))
    return " ".join(parts) if len(parts) > 1 else None
