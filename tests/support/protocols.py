"""A small protocol with places for what a test declares."""

from __future__ import annotations

from typing import Any

from study.protocol import Protocol, parse_protocol

PROTOCOL = """\
schema = 1
id = "conducted"
question = "Does it go as declared?"
[arms.baseline]
driver = "a:b"
[arms.candidate]
driver = "a:c"
[change]
paths = ["driver"]
why = "another driver"
[workload]
suites = ["cases/click"]
split = "held-out"
[design]
tasks = 80
repetitions = 1
seed = 5
{design}
[[endpoints]]
name = "{endpoint}"
role = "primary"
[limits]
trial_timeout_s = 20
{limits}
{sections}
"""


def parse(
    *, design: str = "", limits: str = "", sections: str = "", endpoint: str = "completion"
) -> tuple[Protocol, dict[str, Any]]:
    """Return the record and what was written."""
    text = PROTOCOL.format(design=design, limits=limits, sections=sections, endpoint=endpoint)
    return parse_protocol(text.encode(), "p.toml")
