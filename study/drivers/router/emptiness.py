"""Clauses about an empty answer: "E has no callers", "nothing calls E", "if there are none"."""

from __future__ import annotations

import re

from study.drivers.router.reading import Reader, Step

_NONE = (
    r"(?:none|nothing|no one|nobody|no results?|no answers?|no such thing|no hits?|no"
    r" match(?:es)?|not any|no luck|no entries)"
)
_IT = (
    r"(?:it|that|this|they|the (?:answer|result|list|set|search|outcome|first|former)|which|one|you"
    r"|we|i|the first (?:one|step|call|query))"
)
_COMES = (
    r"(?:is|are|was|were|be|comes? (?:back|up|out)(?: as)?|turns? (?:out|up)(?: to be)?|proves?(?: to"
    r" be)?|has|have|had|gives?|yields?|returns?"
    r"|finds?|shows?|brings?(?: up)?|produces?|remains?|stays?|ends up|gets?|sees?|got|found|lists?"
    r"|holds?|contains?|does|do)"
)
CUE = re.compile(
    rf"^(?:then )?(?:there (?:{_COMES} )?(?:{_NONE}|not any|not)|{_IT} {_COMES} (?:back |up |out"
    rf" )?(?:to be )?(?:{_NONE}|empty|blank|not any|not)"
    rf"|{_NONE} (?:{_COMES}|exists?|can be)?(?: (?:found|up|back|there|listed|returned|out|so"
    r"|available|at all))*"
    rf"|{_IT} (?:does|do|has|have|is|are) not (?:find|have|give|return|yield|show|got)? ?(?:any"
    r"|anything|one|some)?|empty|not|so not"
    r"|no|nothing)(?: (?:at all|there|any|of them|exist|so|either|of those|found))*(?= ?$| [,;:.]|"
    r" then\b| [a-z«])"
)
"""The closed list of cues that are about the answer before, whatever it was."""

BARE_CUE = re.compile(
    r"(?: ,| ;| \.)?(?: (?:and|or|but))?(?: ,)? (?:failing that|if not|if none|or else if (?:there is"
    r" )?none|without (?:any )?(?:result|answer|luck)"
    r"|should that fail to find any|in the absence of any) ,? ?"
)

_NO = r"(?:no|not any|zero|without|lacks?|lacking|missing)"
_HAS = r"(?:has|have|had|with|gets?|got|shows?|comes with|possess(?:es)?)"
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (
            rf"^(?P<e>«\w+») (?:{_HAS} (?:{_NO}|absolutely no)|lacks?(?: any)?|is without(?: any)?|are"
            r" without|has got no) (?P<n>.+)$",
            r"\g<n> of \g<e>",
        ),
        (
            r"^(?P<e>«\w+») (?:does|do|did|has|have|is|are|was) (?:not|never) (?P<v>called|used|invoked"
            r"|tested|covered|extended|subclassed|instantiated"
            r"|constructed|exercised|changed|inherited|imported)(?: (?:by|from|in) .+| anywhere| at all|"
            r" yet)?$",
            r"is \g<e> \g<v>",
        ),
        (
            r"^(?P<e>«\w+») (?:does|do|did) not (?:have|define|declare|own|possess|show|get)(?: any| a"
            r" single| a)? (?P<n>.+)$",
            r"\g<n> of \g<e>",
        ),
        (r"^(?P<e>«\w+») (?:has|have) not (?:got )?(?:any|a single) (?P<n>.+)$", r"\g<n> of \g<e>"),
        (
            r"^(?P<e>«\w+») (?:does|do|did) not (?P<v>[a-z]+)(?: (?P<p>out|up|public))?(?: (?:any"
            r"|anything)(?: [a-z]+)*| at all)?$",
            r"what does \g<e> \g<v> \g<p>",
        ),
        (
            r"^(?P<e>«\w+») (?P<v>[a-z]+?)(?P<s>s|es)? (?:nothing|no one|nobody|no (?:other )?[a-z]+)(?:"
            r" at all| else)?$",
            r"what does \g<e> \g<v>",
        ),
        (
            r"^(?P<e>«\w+») (?:is|are|was) (?:untested|uncovered|not (?:yet )?(?:tested|covered))$",
            r"tests for \g<e>",
        ),
        (r"^(?P<e>«\w+») (?:is|are) (?:uncalled|unused)$", r"callers of \g<e>"),
        (r"^there (?:is|are|were|be|exist|exists) (?:no|not any) (?P<n>.+)$", r"\g<n>"),
        (
            r"^(?:no|zero) (?P<n>.+? (?:of|for|to|below|in) «\w+») (?:exists?|(?:can be |is |are |was "
            r"|were )?found|(?:is|are) there|turns? up|comes? back)$",
            r"\g<n>",
        ),
        (
            r"^(?P<n>.+? (?:of|for|to|below|in) «\w+»|«\w+» 's .+?) (?:is|are|comes? back|turns? out"
            r"|proves?)(?: to be)? (?:empty|none|missing|absent|nonexistent)$",
            r"\g<n>",
        ),
        (
            r"^(?:no|zero) (?P<n>.+?) (?:exists?|(?:can be |is |are |was |were )?found|(?:is|are)"
            r" there|turns? up) (?:for|of|to|in) (?P<e>«\w+»)$",
            r"\g<n> of \g<e>",
        ),
        (r"^(?:nothing|nobody|no one|none)(?: else)? (?P<v>.+)$", r"what \g<v>"),
        (
            r"^no (?P<s>test-modules?|tests?|code|functions?|methods?|class(?:es)?|modules?|commits?"
            r"|files?|[a-z]+)(?: (?:that|which))? (?P<v>(?!of\b|for\b).+)$",
            r"which \g<s> \g<v>",
        ),
    )
)
_POSITIVE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (rf"^(?P<e>«\w+») {_HAS}(?: any| some| at least one)? (?P<n>.+)$", r"\g<n> of \g<e>"),
        (r"^there (?:is|are|were|exist|exists)(?: any| some| at least one)? (?P<n>.+)$", r"\g<n>"),
        (r"^(?:anything|something|anyone|someone|somebody|anybody)(?: else)? (?P<v>.+)$", r"what \g<v>"),
        (
            r"^(?P<e>«\w+») (?:is|are|was|gets) (?P<v>called|used|invoked|tested|covered|extended"
            r"|subclassed|instantiated|constructed)"
            r"(?: (?:by|from|in) .+| anywhere| at all)?$",
            r"is \g<e> \g<v>",
        ),
        (r"^(?:any|some|at least one) (?P<v>.+)$", r"which \g<v>"),
    )
)
_OWN = re.compile(r"\b(it|its|they|this|that|the (?:class|function|method|module|attribute|symbol|same))\b")


def read_emptiness(clause: str, reader: Reader, focus: str | None, *, positive: bool = False) -> Step | None:
    """Read a condition on an empty answer (or, positive, on a non-empty one) as the step that it is about.

    Parameters
    ----------
    clause : str
        Without its conjunction.
    reader : Reader
    focus : str or None
        The entity named last before it.
    positive : bool
    """
    for line in _with_names(clause.strip(" ,;:."), reader, focus):
        for pattern, form in _POSITIVE if positive else _FORMS:
            match = pattern.match(line)
            if match:
                step = reader.read(match.expand(form).strip(), focus, search=False)
                if step is not None:
                    return step
    return None


def _with_names(clause: str, reader: Reader, focus: str | None) -> list[str]:
    """Return the clause with marks where its subject is an anaphor or an ordinary word."""
    found = [clause, *reader.masks(clause)]
    if focus is not None:
        mark = reader.mark(focus)
        found += [_OWN.sub(lambda m: f"{mark} 's" if m[1] == "its" else mark, line) for line in (clause,)]
    folded = [reader.folded(line) for line in found]
    return [line for n, line in enumerate(folded) if line not in folded[:n]]
