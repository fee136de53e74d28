"""Drivers: loading them by name, beside the anchors that ship."""

from study.drivers.loading import LoadedDriver, load_driver, resolved_config

__all__ = ["LoadedDriver", "load_driver", "resolved_config"]
