"""SVG from outside, made safe to stand inside a page."""

from __future__ import annotations

from xml.etree import ElementTree

from study.errors import InputError

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_SHAPES = {"path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "use"}
_STRUCTURE = {"svg", "g", "defs", "symbol", "clipPath", "marker", "style", "title", "desc"}
_ALLOWED = _SHAPES | _STRUCTURE


def embeddable(name: str, source: str) -> str:
    """Return a drawing as one ``<svg>`` element, written anew from its parsed tree.

    Browsers read SVG inside HTML by other rules than XML (a comment may end earlier, say), so the source is
    never copied: comments, instructions, metadata and the prolog are left out, all text is escaped.

    Parameters
    ----------
    name : str
        Named in the error.
    source : str
        An SVG document.

    Raises
    ------
    InputError
        When it is not one well-formed SVG document, or holds anything that runs or loads.
    """
    try:
        root = ElementTree.fromstring(source)
    except ElementTree.ParseError as error:
        raise _refused(name, f"is not well-formed: {error}") from None
    if root.tag != f"{{{_SVG}}}svg":
        raise _refused(name, "is not an SVG document")
    copy = _copied(name, root)
    copy.set("xmlns", _SVG)
    copy.set("xmlns:xlink", _XLINK)
    return ElementTree.tostring(copy, encoding="unicode").strip()


def _copied(name: str, element: ElementTree.Element) -> ElementTree.Element:
    tag = element.tag.removeprefix(f"{{{_SVG}}}")
    if tag not in _ALLOWED:
        raise _refused(name, f"holds a <{tag.rpartition('}')[2]}> element")
    if tag == "style" and _loads(element.text or ""):
        raise _refused(name, "has a style sheet that loads something")
    copy = ElementTree.Element(tag, _attributes(name, element))
    copy.text, copy.tail = element.text, element.tail
    children = [child for child in element if child.tag != f"{{{_SVG}}}metadata"]
    copy.extend([_copied(name, child) for child in children])
    return copy


def _attributes(name: str, element: ElementTree.Element) -> dict[str, str]:
    kept: dict[str, str] = {}
    for key, value in element.attrib.items():
        attribute = key.replace(f"{{{_XLINK}}}", "xlink:")
        local = attribute.rpartition(":")[2].lower()
        outside = local in {"href", "src"} and not value.startswith("#")
        if "}" in attribute or local.startswith("on") or outside or _loads(value):
            raise _refused(name, f"has an attribute that may run or load something: {attribute}")
        kept[attribute] = value
    return kept


def _loads(text: str) -> bool:
    lowered = text.lower()
    return "url(" in lowered.replace("url(#", "") or "@import" in lowered or "\\" in lowered


def _refused(name: str, problem: str) -> InputError:
    return InputError(
        f"figure {name!r} {problem}",
        code="figure",
        where=f"figures[{name!r}]",
        allowed="a static SVG document without scripts or references to other files",
        next_step="pass the text that analysis.figures.to_svg returns",
    )
