"""The declared plan: a protocol file -> a closed record that keeps every rule across its fields."""

from __future__ import annotations

import tomllib
from pathlib import Path

from study.bounds import (
    FEWEST_FIXED_TRIALS,
    FEWEST_OF_STRATUM,
    FEWEST_TASKS,
    all_ties_bound,
    minimum_tasks,
)
from study.claims import REPEATABLE
from study.convert import convert
from study.digest import JSON, read_bytes
from study.errors import ProtocolError
from study.rules import LARGEST_CEILING, arm_difference, check_protocol, parse_ceiling
from study.sections import (
    AnalysisSpec,
    Arms,
    ArmSpec,
    Change,
    Claim,
    Conditions,
    Design,
    EndpointSpec,
    Estimand,
    Gates,
    JournalSpec,
    Limits,
    Missing,
    Multiplicity,
    Protocol,
    Retries,
    Role,
    Treatment,
    Workload,
    endpoint_label,
)

__all__ = [
    "FEWEST_FIXED_TRIALS",
    "FEWEST_OF_STRATUM",
    "FEWEST_TASKS",
    "LARGEST_CEILING",
    "REPEATABLE",
    "AnalysisSpec",
    "ArmSpec",
    "Arms",
    "Change",
    "Claim",
    "Conditions",
    "Design",
    "EndpointSpec",
    "Estimand",
    "Gates",
    "JournalSpec",
    "Limits",
    "Missing",
    "Multiplicity",
    "Protocol",
    "Retries",
    "Role",
    "Treatment",
    "Workload",
    "all_ties_bound",
    "arm_difference",
    "check_protocol",
    "endpoint_label",
    "load_protocol",
    "minimum_tasks",
    "parse_ceiling",
    "parse_protocol",
    "read_protocol",
]

_EXAMPLES = {
    "margin": 'text with its unit: "5 pp" for shares, "10 %" for ratios',
    "max_void_pairs": 'a share of pairs with its unit, e.g. "2 %"',
    "alpha": "one-sided, e.g. 0.025",
    "weights": 'a table such as { "TOOL-1" = 0.4, "TOOL-2" = 0.6 }',
    "tasks": "the number of tasks that the selection yields",
}


def read_protocol(path: Path) -> tuple[Protocol, dict[str, JSON]]:
    """Read a protocol file.

    Parameters
    ----------
    path : Path
        A TOML file.

    Returns
    -------
    (Protocol, dict)
        The checked record, and the data exactly as written (absent keys stay absent).

    Raises
    ------
    ProtocolError
        For TOML that does not parse, unknown keys, wrong types, and contradictions between fields.
    """
    return parse_protocol(read_bytes(path, "protocol"), str(path))


def load_protocol(path: str | Path) -> Protocol:
    """Read and check a protocol file; return the record (see :func:`read_protocol`)."""
    return read_protocol(Path(path))[0]


def parse_protocol(data: bytes, where: str) -> tuple[Protocol, dict[str, JSON]]:
    """Parse the bytes of a protocol file (see :func:`read_protocol`)."""
    try:
        written = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ProtocolError(f"not UTF-8 (byte {error.start})", where=where) from None
    except tomllib.TOMLDecodeError as error:
        raise ProtocolError(f"not valid TOML: {error}", where=where) from None
    except RecursionError:
        raise ProtocolError("nested too deeply", where=where) from None
    next_step = "`study init DIR` writes a protocol to start from"
    protocol = convert(written, Protocol, where, ProtocolError, next_step, _EXAMPLES)
    check_protocol(protocol, where)
    return protocol, written
