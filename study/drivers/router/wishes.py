"""Goal requests: which rules a wording fits, in which mode, about what."""

from __future__ import annotations

import re

from study.drivers.router.reading import Reader, bare
from study.drivers.router.rules import Mode
from study.drivers.router.scanning import MARK
from study.drivers.router.sequences import background_focus
from study.records import Record


class Wish(Record):
    """A goal request as it was read.

    Attributes
    ----------
    mode : str
    rules : tuple of str
        Ids of the rules that the wording fits.
    focus : str or None
        The entity as written, in scoped mode.
    about : str or None
        The kind that a global request is about.
    """

    mode: Mode
    rules: tuple[str, ...]
    focus: str | None = None
    about: str | None = None


_EDGE = " ,;.:?!"
_ANY = ("coverage-gap", "cochange-risk")
_GAP = ("coverage-gap",)
_RISK = ("cochange-risk",)

_DO = (
    r"(?:chang(?:e|es|ing)|touch(?:ing)?|edit(?:ing)?|modify(?:ing)?|refactor(?:ing)?|rewrit(?:e|ing)"
    r"|remov(?:e|ing)|delet(?:e|ing)|renam(?:e|ing)"
    r"|mov(?:e|ing)|alter(?:ing)?|replac(?:e|ing)|rework(?:ing)?|work(?:ing)? on|drop(?:ping)?"
    r"|updat(?:e|ing)|mess(?:ing)? with|clean(?:ing)? up)"
)
_SAFE = r"(?:safe|risky|dangerous|unsafe|hazardous|critical|harmless|delicate|fragile)"
_ING = (
    rf"(?:{_DO}|changes? to|change of|change in|edits? to|modifications? of|modifications? to"
    r"|removal of|work on|refactoring of)"
)
_WHEN = (
    r"(?:if|when|before|while|after|once|by|from|with|in|should)(?: (?:i|we|one|you"
    rf"|someone))?(?: (?:were|want|decide|have|had|am|are|is))?(?: to)? ?{_ING}"
)
_SCOPED: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        _ANY,
        rf"(?:is|are|would|will)(?: it| that)?(?: be)? {_SAFE}(?: for us| for me)? to {_DO} <E>(?:"
        r" or not)?",
    ),
    (_ANY, rf"(?:is|are|would) <E>(?: be)? {_SAFE}(?: to {_DO})?"),
    (_ANY, rf"(?:is|are|would|will) {_ING} <E>(?: be)? {_SAFE}"),
    (
        _ANY,
        r"(?:can|could|may|should|might|dare) (?:i|we|one|you) (?:safely|without risk|without"
        rf" worry|without danger|with a clear conscience) {_DO} <E>",
    ),
    (
        _ANY,
        rf"(?:can|could|may|might) (?:i|we|one|you) {_DO} <E> (?:safely|without (?:risk|worry(?:ing)?"
        r"|worries|danger|fear|trouble))",
    ),
    (
        _ANY,
        r"(?:can|could|may) <E> be (?:safely )?(?:changed|touched|edited|modified|refactored"
        r"|rewritten|removed)(?: safely| without (?:risk|worry|danger|fear))",
    ),
    (_ANY, rf"how {_SAFE} (?:is|would|will|are)(?: it)?(?: be)?(?: to)? ?{_DO}? ?<E>(?: be)?(?: to {_DO})?"),
    (_ANY, rf"how {_SAFE} (?:is|would|are) (?:{_ING}) <E>(?: be)?"),
    (_ANY, rf"how {_SAFE} <E> is(?: to {_DO})?"),
    (_ANY, rf"how {_SAFE} it is to {_DO} <E>"),
    (_ANY, rf"(?:whether|if) it is {_SAFE} to {_DO} <E>"),
    (_ANY, rf"(?:whether|if) <E> is {_SAFE}(?: to {_DO})?"),
    (_ANY, rf"(?:what is|what are)? ?(?:risks?|dangers?) (?:when|if) (?:i|we) {_DO} <E>"),
    (
        _ANY,
        r"what (?:could|might|can|may|would|will) (?:go wrong|break unnoticed|silently break"
        r"|break silently|break without notice|bite (?:me|us)?|slip through)"
        rf"(?: unnoticed)? {_WHEN} <E>",
    ),
    (
        _ANY,
        r"what (?:could|might|can|may|would|do|will) (?:i|we|you) (?:break unnoticed|silently"
        r" break|break silently|break without noticing)"
        rf"(?: {_WHEN} <E>)",
    ),
    (
        _ANY,
        r"what (?:should|must|do|would|ought) (?:i|we|one)(?: have| need)?(?: to)? (?:worry about"
        r"|watch out for|look out for|be careful (?:about|with|of)|fear|beware of"
        rf"|keep an eye on|be afraid of|mind|be aware of|pay attention to) {_WHEN} <E>",
    ),
    (
        _ANY,
        r"what (?:is|would be|are|will be|stands)(?: put)? (?:at risk|at stake|in danger"
        rf"|endangered|risky|dangerous|critical) (?:{_WHEN}|about(?: {_ING})?) <E>",
    ),
    (
        _ANY,
        r"(?:assess|evaluate|estimate|judge|gauge|analyse|analyze|check|show|give|what is|what"
        r" are|tell)? ?(?:risks?|danger|dangers|hazards?|safety)"
        rf" (?:of|in|for|with|behind|when|to)(?: {_ING})? <E>",
    ),
    (
        _ANY,
        rf"what (?:risks?|dangers?) (?:does|do|would|will) (?:{_ING} )?<E> (?:carry|bring|pose"
        r"|have|involve)",
    ),
    (
        _ANY,
        r"(?:i|we) (?:want|plan|need|intend|am about|are about|have|would like|am going|are"
        rf" going) to {_DO} <E> ,?;?\.? ?(?:what|is|am|are|how|should|can)"
        r"(?: that| this| it| should i| could| i| we| the| do i)*(?: worry about| watch out for|"
        r" go wrong| safe| risky| dangerous| risks?| be careful about| at risk| look out for)",
    ),
    (
        _GAP,
        r"(?:what is |where is |show |find |list )?(?:test )?(?:coverage|testing|test) gaps?(?:"
        r" (?:of|around|behind|for|in|at|below|downstream of)| left by) <E>",
    ),
    (_GAP, r"<E> 's (?:coverage|test) gaps?"),
    (
        _GAP,
        rf"(?:can|could|may|dare) (?:i|we|one) {_DO} <E> without breaking (?:things?|anything|something|code"
        r"|modules?)(?: that| which)? (?:nobody|no one|no tests?|nothing|is|are) (?:tests?|covers?|notices?"
        r"|untested|uncovered|not tested)",
    ),
    (
        _GAP,
        r"(?:which |what |of )?(?:dependents|importers|modules (?:that )?depend(?:ing|ent)? on"
        r"|modules depending on) (?:of )?<E> (?:would |could |might |may |will )?(?:break|fail|go"
        r" wrong|change)"
        r" (?:without test(?:s)? noticing|unnoticed|silently|without tests? failing)",
    ),
    (
        _GAP,
        r"(?:what|which modules)(?: that)? depends? on <E> (?:is |are )?(?:unprotected|unguarded"
        r"|without protection|without safety net|without test noticing)",
    ),
    (
        _GAP,
        r"(?:what|which modules) (?:is|are) left (?:unprotected|unguarded) (?:by tests )?(?:behind"
        r"|around|by|downstream of) <E>",
    ),
    (_GAP, r"(?:unprotected|unguarded) (?:dependents|importers) of <E>"),
    (
        _RISK,
        r"(?:cochange|cochanging|change coupling|coupling|hidden coupling|change-coupling)"
        r" (?:risks?|dangers?|hazards?)(?: (?:of|for|around|behind|in|with|at))? <E>",
    ),
    (_RISK, r"<E> 's (?:(?:cochange|change coupling|coupling) risks?|hidden coupling)"),
    (
        _RISK,
        r"(?:hidden|silent|unprotected|unguarded|untested) (?:change )?coupling (?:of|around|with"
        r"|for|behind|in) <E>",
    ),
    (
        _RISK,
        r"(?:what|which (?:modules|files))(?: that)? (?:moves?|changes?|travels?|goes) (?:along "
        r"|together |hand in hand )with <E> (?:is |are )?(?:unprotected|unnoticed|unguarded"
        r"|silently|without (?:tests? noticing|protection|safety net))",
    ),
    (
        _RISK,
        r"(?:risk|danger) of (?:hidden coupling|cochanges?|change coupling) (?:of|with|for|around"
        r"|in) <E>",
    ),
)
_MOST = (
    r"(?:riskiest|most (?:dangerous|risky|critical|fragile|exposed|unsafe|hazardous|delicate"
    r"|vulnerable)|least (?:safe|protected)|worst)"
)
_KIND = r"(?P<kind>modules?|class(?:es)?|functions?|methods?|files?|packages?|attributes?)"
_SCOPE_ADJ = r"(?:(?:untested|uncovered|single|one|unprotected) )*"
_GLOBAL: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        _ANY,
        rf"(?:which|what) {_SCOPE_ADJ}(?:of modules )?{_KIND}(?: that is untested| without tests)?"
        rf" (?:is|would be|are|will be) {_MOST}(?: (?:one|ones|module))?(?: to {_DO}| when changed"
        r"| of all| to leave (?:untested|without tests))?",
    ),
    (_ANY, rf"{_MOST} {_SCOPE_ADJ}{_KIND}(?: to {_DO}| of all| to leave untested)?"),
    (
        _GAP,
        rf"(?:which|what) {_SCOPE_ADJ}{_KIND}(?: that is untested| without tests)? (?:would|could"
        r"|will|does|might) (?:hurt|break|cost|harm|damage|endanger|affect) (?:us )?(?:most|most"
        r" others|most modules|most of project|worst)"
        r"(?: (?:if|when|should) (?:it|they|that|something|one of them)(?: (?:is|are|were|was|gets?"
        r"|broke|breaks?"
        r"|changes?|changed|fails?|failed|goes wrong|went wrong|touched|edited|modified|break|change"
        r"|fail))*)?",
    ),
    (
        _GAP,
        rf"(?:which|what) {_SCOPE_ADJ}{_KIND} (?:has|have|shows|leaves|with) (?:largest|biggest"
        r"|widest|worst|most serious|greatest) (?:test )?(?:coverage )?(?:test )?gaps?",
    ),
    (
        _GAP,
        rf"{_SCOPE_ADJ}{_KIND} with (?:largest|biggest|widest|worst|most serious|greatest) (?:test"
        r" )?(?:coverage )?(?:test )?gaps?",
    ),
    (
        _GAP,
        r"(?:largest|biggest|worst|widest|most serious|greatest) (?:test )?coverage gap(?:"
        r" (?:among|of|by|across|over) modules)",
    ),
    (
        _GAP,
        rf"(?:which|what) {_SCOPE_ADJ}{_KIND} (?:is|are) (?:most in need of|most (?:urgently )?in"
        r" need of|most urgent to|in most need of|most lacking) (?:tests?|test coverage|coverage)",
    ),
    (
        _GAP,
        rf"(?:which|what) {_SCOPE_ADJ}{_KIND} (?:needs?|should get|deserves?|should be given"
        r"|should have|requires?|calls for|should be|must be) (?:tests?|test coverage|tested"
        r"|covered)"
        r" (?:most(?: urgently)?|first|most of all|next|before others|urgently)",
    ),
    (
        _GAP,
        rf"(?:where|for which {_KIND}) should (?:i|we|one) (?:add|write|put) tests (?:first|next"
        r"|most urgently)(?: ,? ?(?:by|per|among|in which|for which|of all) (?P<by>modules?"
        r"|class(?:es)?|functions?))?",
    ),
    (
        _GAP,
        rf"(?:which|what) (?:untested|uncovered) {_KIND} (?:do|does|is|are|has|have) (?:most"
        r" (?:others|other modules|modules|of project)|most (?:dependents|importers|impact)"
        r"|largest (?:impact|blast radius)|biggest (?:impact|blast radius)|depended on (?:by"
        r" most(?: others)?|most)|needed by most(?: others)?|imported by most(?: others)?)"
        r"(?: (?:depend on|rely on|import|need|use))?",
    ),
    (
        _GAP,
        rf"(?:untested|uncovered) {_KIND} (?:with|that has|that have) (?:most (?:dependents"
        r"|importers)|largest (?:impact|blast radius)|biggest (?:impact|blast radius))",
    ),
    (
        _RISK,
        rf"(?:which|what) {_SCOPE_ADJ}{_KIND} (?:has|have|shows|carries) (?:largest|biggest|worst"
        r"|highest|greatest) (?:cochange|change coupling|coupling|hidden coupling) (?:risk"
        r"|danger)?",
    ),
    (
        _RISK,
        rf"{_KIND} with (?:largest|biggest|worst|highest|greatest) (?:cochange|change coupling"
        r"|coupling|hidden coupling)(?: risk| danger)?",
    ),
)


def _compiled(
    table: tuple[tuple[tuple[str, ...], str], ...],
) -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    lead = (
        r"^(?:(?:show|list|give|find|tell|name|what is|what are|which is|which are|how (?:high|big"
        r"|large|great|serious) is|is there|are there|determine"
        r"|identify|out|point|assess|evaluate|report|is|it|know|see|work|say|name|print|display|get|fetch"
        r"|return|look up|explain) )*"
    )
    made: list[tuple[tuple[str, ...], re.Pattern[str]]] = []
    for rules, pattern in table:
        head, mark, rest = pattern.partition("<E>")
        text = f"{head}«(?P<e>\\d+)»{rest.replace('<E>', '«(?P=e)»')}" if mark else pattern
        made.append(
            (
                rules,
                re.compile(
                    rf"{lead}(?:{text})(?: (?:at all|today|here|as (?:it is|things"
                    r" are)|in our project))?$"
                ),
            )
        )
    return tuple(made)


_SCOPED_FORMS = _compiled(_SCOPED)
_GLOBAL_FORMS = _compiled(_GLOBAL)


def read_wish(line: str, reader: Reader) -> Wish | None:
    """Read a goal request, or return None.

    Parameters
    ----------
    line : str
        A scanned request.
    reader : Reader
    """
    text, focus = background_focus(line.strip(" .?!"), reader)
    for clause in _clauses(text, focus, reader):
        found = _scoped(bare(clause), reader)
        if found is not None:
            return found
    return _global(bare(text)) if not MARK.search(line) else None


def _clauses(text: str, focus: str | None, reader: Reader) -> list[str]:
    """Return the clause with marks for its anaphors; one that names nothing is about changing the focus."""
    found = [reader.with_focus(clause, focus) for clause in (text, *reader.masks(text))]
    if focus is not None and not MARK.search(text):
        mark = reader.mark(focus)
        found += [re.sub(r"\b(?:that|this|it)\b", mark, text), f"{text.strip(_EDGE)} if i change {mark}"]
    return found


def _scoped(text: str, reader: Reader) -> Wish | None:
    for rules, pattern in _SCOPED_FORMS:
        match = pattern.match(text)
        if match and len(set(MARK.findall(text))) == 1:
            return Wish(mode="scoped", rules=rules, focus=reader.name(match["e"]))
    return None


def _global(text: str) -> Wish | None:
    for rules, pattern in _GLOBAL_FORMS:
        match = pattern.match(text)
        if match:
            kinds = match.groupdict()
            kind = kinds.get("kind") or kinds.get("by")
            return Wish(mode="global", rules=rules, about=_singular(kind))
    return None


def _singular(kind: str | None) -> str | None:
    if kind is None:
        return None
    return "class" if kind.startswith("class") else kind.removesuffix("s")
