"""What the lint asks of a second way to the answers of a suite's tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Oracle(Protocol):
    """A second way to the answers of a suite's tools, independent of its toolset.

    A toolset offers it as its attribute ``oracle``. The same questions are asked again and again; keeping
    answers is the oracle's business.
    """

    def answer(self, name: str, arguments: Mapping[str, Any], /) -> frozenset[str]:
        """Return the labels that a call is answered with.

        Raises
        ------
        LookupError
            When the call has no answer, with the reason: an unknown or tied name, a wrong kind.
        """
        ...

    def readings(self, term: str, /) -> Mapping[str, str]:
        """Return every entity that a term may mean: full label -> kind."""
        ...

    def takes(self, tool: str, /) -> frozenset[str] | None:
        """Return the kinds of entity that a tool takes: an empty set for a tool about no entity.

        None for a tool whose answers the oracle does not know.
        """
        ...
