"""Stations in this process: the drivers and toolsets that are loaded here."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from study.driver import Toolset
from study.drivers import LoadedDriver
from study.errors import StudyError
from study.executors.inprocess import InProcess, within
from study.executors.settling import Backstop, DriverExitError, described
from study.executors.trials import Execution, PreparedCase

CLOSE_S = 8.0
"""How long each driver and each toolset may take to close."""


class Bench:
    """What trials need in one process: drivers, their settings, prepared cases, toolsets.

    Parameters
    ----------
    drivers : mapping
        Arm -> driver.
    configs : mapping
        Arm -> settings; each trial is given a copy.
    prepared : mapping
        Case id -> case.
    toolsets : mapping
        Suite id -> toolset, to be closed in the end.
    """

    def __init__(
        self,
        drivers: Mapping[str, LoadedDriver],
        configs: Mapping[str, Mapping[str, Any]],
        prepared: Mapping[str, PreparedCase],
        toolsets: Mapping[str, Toolset | None],
    ) -> None:
        self.drivers = drivers
        self.configs = configs
        self._flat = {
            arm: not any(isinstance(value, dict | list) for value in settings.values())
            for arm, settings in configs.items()
        }
        self.prepared = prepared
        self._toolsets = toolsets
        self._set_up: list[LoadedDriver] = []

    def config(self, arm: str) -> Any:
        """Return a copy of the settings of an arm."""
        settings = self.configs[arm]
        return dict(settings) if self._flat[arm] else copy.deepcopy(settings)

    def set_up(self) -> None:
        """Tell each driver its settings.

        Raises
        ------
        StudyError
            When a driver's ``setup`` fails.
        """
        for arm, driver in self.drivers.items():
            try:
                driver.setup(self.config(arm))
            except StudyError:
                raise
            except (Exception, SystemExit, DriverExitError) as error:
                raise StudyError(
                    f"the driver's setup failed: {type(error).__name__}: {error}",
                    where=f"arms.{arm}.driver = {driver.name!r}",
                    next_step="mend the driver and repeat the command",
                ) from None
            self._set_up.append(driver)

    def close(self) -> list[str]:
        """Close drivers and toolsets; return what failed, since every trial is over by then."""
        closers = [(f"driver {driver.name!r}", driver.close) for driver in self._set_up]
        closers += [
            (f"toolset of {name!r}", closer)
            for name, toolset in self._toolsets.items()
            if (closer := getattr(toolset, "close", None)) is not None
        ]
        failures: list[str] = []
        for what, close in closers:
            try:
                within(CLOSE_S, close)
            except Backstop:
                failures.append(f"closing the {what} did not end within {CLOSE_S:g} s")
            except BaseException as error:
                told = described(error)
                failures.append(f"closing the {what} failed: {told['type']}: {told['message']}")
        return failures


class MainThread:
    """A station in the main thread: each trial behind an alarm (:class:`study.executors.InProcess`)."""

    name = "main"

    def __init__(self, bench: Bench, trials: InProcess) -> None:
        self._bench = bench
        self._trials = trials

    def execute(self, arm: str, case_id: str, seed: int) -> Execution:
        """Run one attempt."""
        bench = self._bench
        return self._trials.execute(bench.drivers[arm], bench.prepared[case_id], bench.config(arm), seed)

    def close(self) -> Sequence[str]:
        """Give up nothing: drivers and toolsets belong to the bench."""
        return ()
