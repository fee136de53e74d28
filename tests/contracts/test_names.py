"""What users may rely on: public names, lazy roots, and what an import costs."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import analysis
import study

STUDY = [
    "Call",
    "Capability",
    "Case",
    "Context",
    "Driver",
    "LoopResult",
    "Registry",
    "StudyError",
    "ToolError",
    "ToolResult",
    "freeze",
    "grade",
    "load_cases",
    "load_protocol",
    "run",
    "verify",
]
ANALYSIS = [
    "decide",
    "estimate",
    "figures",
    "hard_fails",
    "latency_quantiles",
    "rates",
    "read_run",
    "read_table",
    "render_report",
    "verify_results",
]
STATISTICS = ("numpy", "scipy", "statsmodels", "polars", "matplotlib")


@pytest.mark.parametrize("package, names", [(study, STUDY), (analysis, ANALYSIS)])
def test_public_names_are_these_and_each_can_be_had(package, names):
    assert package.__all__ == names
    for name in names:
        assert getattr(package, name) is not None
    assert set(names) <= set(dir(package))
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018


@pytest.mark.parametrize("package", [study, analysis])
def test_no_public_function_shares_its_name_with_a_submodule(package):
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    functions = {name for name in package.__all__ if not hasattr(getattr(package, name), "__path__")}
    assert not modules & functions


def loaded_after(program):
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


def test_the_help_path_imports_next_to_nothing():
    program = "from study.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass"
    loaded = loaded_after(program)
    assert "click" in loaded
    assert not loaded & {"msgspec", "asyncio", "rich", "jsonschema_rs", *STATISTICS}


def test_study_below_the_command_line_starts_without_the_statistics_stack():
    modules = [f"study.{m.name}" for m in pkgutil.iter_modules(study.__path__) if m.name != "cli"]
    loaded = loaded_after("\n".join(f"import {name}" for name in modules))
    assert "study.runner" in loaded
    assert not loaded & set(STATISTICS)


def test_statsmodels_is_imported_inside_functions_only():
    modules = [
        f"analysis.{m.name}" for m in pkgutil.iter_modules(analysis.__path__) if m.name not in ("figures",)
    ]
    assert "statsmodels" not in loaded_after("\n".join(f"import {name}" for name in modules))


def test_every_module_says_in_one_line_what_it_is_for():
    for package in (study, analysis):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith("__main__"):
                continue
            text = importlib.import_module(module.name).__doc__
            assert text, module.name
            assert text.splitlines()[0].endswith((".", ":")), module.name
