"""What a module offers to others."""

from __future__ import annotations

from collections.abc import Set

from study.toolsets.codegraph.resolver import Resolver
from study.toolsets.codegraph.scopes import Imported, ModuleInfo, dunder_all


def exported(info: ModuleInfo, resolver: Resolver, known: Set[str]) -> tuple[set[str], set[str]]:
    """Return the labels that a module exports, and the part of them that is defined elsewhere."""
    module = info.file.label
    listed = dunder_all(info)
    names = list(listed) if listed is not None else _offered(info, resolver)
    found = {_exported_label(module, name, resolver) for name in names}
    exports = {label for label in found if label is not None and label in known}
    own = {label for label in exports if label.rpartition(".")[0] == module and label not in resolver.modules}
    return exports, exports - own


def _offered(info: ModuleInfo, resolver: Resolver) -> list[str]:
    """Names offered without ``__all__``: public definitions, and imports meant to be passed on."""
    names: list[str] = []
    for name, bindings in info.scope.bindings.items():
        imports = [b for b in bindings if isinstance(b, Imported)]
        defined = len(imports) < len(bindings)
        passed_on = info.file.package or any(b.explicit for b in imports)
        if not name.startswith("_") and (defined or passed_on):
            names.append(name)
    for star in info.scope.stars:
        names += resolver.public_names(star)
    return names


def _exported_label(module: str, name: str, resolver: Resolver) -> str | None:
    return resolver.module_attribute(module, name).entity
