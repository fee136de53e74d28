"""Turns of phrase, rewritten into the plainer fragment before a request is read.

Each rule keeps names and asks for the same; none turns something that must be refused into a request. The
rules work on a scanned line: words in lower case, marks ``«n»`` for names.
"""

from __future__ import annotations

import re

from study.drivers.router.scanning import MARK

_NAME = r"(?:«\d+»|[^\s«»,;:.?]+)"
"""A name, marked or an ordinary word."""
_READ = (
    r"(?:show|list|give|get|fetch|print|display|name|enumerate|tell|say|report|return|find|look up|describe"
    r"|explain|summari[sz]e|outline|determine|identify|count)"
)
_ACTIVE = {
    "called": "what calls",
    "used": "what uses",
    "invoked": "what invokes",
    "tested": "which tests cover",
    "covered": "which tests cover",
    "exercised": "which tests cover",
    "imported": "which modules import",
    "extended": "which classes extend",
    "subclassed": "which classes extend",
    "inherited": "which classes extend",
}
_PARTICIPLE = {
    "call": "called",
    "use": "used",
    "invoke": "invoked",
    "construct": "constructed",
    "create": "created",
    "instantiate": "instantiated",
    "test": "tested",
    "exercise": "tested",
    "define": "defined",
    "declare": "defined",
}

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # openers and verbs
        (r"^(?:yo|hiya|howdy|folks|team|guys|all) , ", ""),
        (
            r"^(?:i am )?new (?:here|(?:on|to|in|at) (?:(?:the|this|our|your) )?(?:team|project|code"
            r" base|code|repo"
            r"|repository|company|job)(?: here)?) ?[.;,:] ",
            "",
        ),
        (r"^(?:before|after|since|because|when|while) (?:i|we) [a-z ]+? (?:i|we) would like to know : ", ""),
        (r"\b(?:for|of) every one , ", "for each of them "),
        (r"\bif no luck\b", "if there are none"),
        (r"\b(?:check|see|find out|tell me) (?:whether|if) (?:some|any) ", "show which "),
        (r"\bcheck (?=which|what|who|where)", "show "),
        (
            r"(?:(?<=[.;,?] )|\band )once (?:you have|you know|you are done with|done with) (?:that|it|this)"
            r" (?:, )?",
            "then ",
        ),
        (
            rf"^(?:when|while|once) ({_NAME}) (?:runs|executes|is running|does its work) (?:, )?(?=what)",
            r"take \1 , ",
        ),
        (r"\b(?:pls|plz)\b", "please"),
        (
            r"^(?:hey|hi|hello|ok|so|well)? ?,? ?(?:just )?(?:a )?quick (?:one|question)(?: for you)?"
            r" ?[:;,.?] ",
            "",
        ),
        (r"\bremind me (?:of |about )?", "tell me "),
        (r"\b(?:go|walk|run|step) through (?=(?:the|all|every|each) )", "list "),
        (r"\bwhat (?:on earth|in the world|exactly) (?=is|are|does|do)", "what "),
        (r"\b(tell me|learn|hear|know) (?:a (?:bit|little)(?: bit)?|all|everything) about ", r"\1 about "),
        (
            r"^((?:before|after|since|as|because|when|while) (?:i|we) [^,;.?]+?) (?=(?:i|we) (?:would like"
            r"|want|need)|(?:could|can|would) you|please|tell me|show me)",
            r"\1 , ",
        ),
        (
            r"\b(?:dig|pull|bring|fish|call|turn) (?:up|out) (?=(?:the|all|every|its|«|which|what|who))",
            "look up ",
        ),
        (
            r"^(?:(?:i|we) (?:need|want|have|would like)|(?:give|show|tell) me)? ?(?:two|three|four"
            r"|a couple of|a few|several|some) (?:things|questions|facts|lists|requests)"
            r"(?: about it| please)? ?[:;,.]",
            "",
        ),
        (r"\bi am (?:after|looking for|hunting for|interested in) ", "show "),
        (r"\bi (?:only |just )?mean (?=\w)", ""),
        (r"\b(?:what|who) (?:have we got|have we|do we have|is there|are there|exists) that ", "what "),
        (r"\bdo we have (?:any |some )?(?=(?:test )?(?:coverage|tests|callers|users|subclasses))", "show "),
        (
            r"(?<![^\s,;.?:])(?:and |also )*(?:separately|besides|in addition|moreover|on top of that) ,? ?",
            "and ",
        ),
        (r"\bexplain briefly ", "explain "),
        (r"\b(?:do|run|make) (?:a |another )?(?:name|text|symbol) search for ", "search for "),
        (
            rf"^(?:i|we) (?:forget|forgot|do not remember) the (?:exact |full )?name , but it (?:had|has"
            rf"|contains?)"
            rf" ({_NAME}) in it [.;,] what are the candidates",
            r"list names containing \1",
        ),
        (rf"\b(?:with|having) ({_NAME}) as (?:a )?(?:part|piece|substring)\b", r"containing \1"),
        (
            rf"^(?:does|is there|do) (?:anything|anyone|something|some code)(?: that)? (?:still"
            rf" )?(calls?|uses?|invokes?)"
            rf" ((?:the [a-z]+ )?{_NAME}) [?.;,] (?:and )?if (?:so|yes) , (?:what|who|which|where)(?:"
            rf" code| ones?)?",
            r"what \1 \2",
        ),
        (
            rf"^((?:the [a-z]+ )?{_NAME}) (?:shows up|appears|turned up|keeps showing up|came up|is) in"
            rf" (?:my|our|the|a)"
            r" (?:profiler|profile|log|logs|trace|traceback|review|diff)(?: output)? [;,.:] ",
            r"take \1 , ",
        ),
        (
            rf"^(?:i|we) (?:suspect|think|believe|fear|guess)(?: that)? ((?:the [a-z]+ )?{_NAME}) is"
            rf" [a-z ]+ [:;,.] ",
            r"take \1 , ",
        ),
        (
            rf"^(?:i|we) (?:want|need|plan|have) to [a-z]+ everything that ({_NAME}) (calls|invokes"
            rf"|uses) [;,.]"
            r" what is on (?:that|the) list",
            r"list everything that \1 \2",
        ),
        (
            r"^for (?:a|an|my|our|the) (?:(?:sequence|class|call|flow|dependency|release|design)"
            r" )?(?:diagram|review"
            r"|report|talk|meeting|document|migration|release|overview|presentation|refactoring) (?:i|we)"
            r" (?:need|want) ",
            "show ",
        ),
        (
            rf"^if (?:i|we) (?:added|add|put|introduced?) (?:a|an|another) (?:new )?(?:abstract )?method"
            rf" (?:to|in|on)"
            rf" ((?:the [a-z]+ )?{_NAME}) , which classes would (?:have|need) to (?:implement|define"
            rf"|override) it",
            r"which classes inherit from \1",
        ),
        (r"\bdo we have tests that ", "which tests "),
        (r"(?<=[?.;]) name (?:them|those)(?= ?[.?!]| ?$)", "which ones"),
        (r"\bpoint me (?:to|at) ", "show "),
        # what is said again
        (
            r" ?[,;.?] (?:the )?(?:modules|test-modules|tests|commits|functions|classes|methods|names|callers"
            r"|callees|subclasses|members) (?:, )?i mean(?= ?[.?!]| ?$)",
            "",
        ),
        (
            r" ?, (?:as in|that is|in other words|meaning|i ?\. ?e ?\.?) (?:, )?(?=what|which|who|where|how)",
            " ? ",
        ),
        # tails
        (r" (?:over time|so far|to date|over the years)(?= ?[.?!]| ?$)", ""),
        (
            r" ,? (?:the (?:whole )?lot|the works|and all that|and so on|args? and all|etc)(?= ?[.?!,;]| ?$)",
            "",
        ),
        (r" to (?:get its work done|do its (?:job|work|thing))(?= ?[.?!]| ?$)", ""),
        (r" (?:in(?:side)? (?:its|the) (?:own )?body|under the hood)(?= ?[.?!,;]| ?$)", ""),
        (r"\b(?:somewhere|anywhere) in (its|their|the) names?\b", r"in \1 name"),
        (
            r"(?:whether )?directly or (?:further down(?: (?:the|in the) (?:hierarchy|tree|line))?"
            r"|(?:through|via|by way of) (?:something|anything|others|other (?:modules|code))(?: else)?)",
            "directly or indirectly",
        ),
        # nouns
        (r"\bcall traffic\b", "call edges"),
        (r"\bbig picture\b", "overview"),
        (r"\b(?:modules downstream|downstream modules)\b(?! of)", "modules"),
        (r"(?<=[\w»]) itself\b", ""),
        (r"(«\d+») first(?= ?[,;.])", r"\1"),
        (r"(?<!for )\beach (?=calls?|commits?|callers?|tests?|class|functions?|modules?|methods?)", "every "),
        (rf"\b(calls?) into (?!and\b|or\b)(?={_NAME})", r"\1 "),
        (
            r"\b(?:whenever|each time|every time) (?:someone|somebody|anyone|i|we|you) (?:changes?|edits?"
            rf"|touch(?:es)?|modif(?:y|ies)|alters?|updates?) ({_NAME})",
            r"whenever \1 changes",
        ),
        (r"\b(?:bird(?: 's|s)?[ -]eye|high-level|rough|quick) (?:view|map|overview)\b", "overview"),
        (r"\bcall edges (in and out of|to and from|into and out of) ", r"calls \1 "),
        (r"\b(?:this|that) one(?= [a-z])", "it"),
        (
            r"^(?:of|among|out of) (?:all )?(?:the )?(?:untested modules|modules (?:without (?:any )?tests"
            r"|that are untested|that have no tests|that lack tests)) (?:, )?which(?: one)? (?=(?:do|does)"
            r" (?:the )?most|(?:is|has|would|needs|should) )",
            "which untested module ",
        ),
        # word order
        (
            r"\b(?:call (?:graph|edges|relations)|calls) in both directions (?:around|of|for|at|near)"
            rf" ({_NAME}) ?, (?:incoming|outgoing) (?:and|as well as) (?:outgoing|incoming)",
            r"call edges in both directions of \1",
        ),
        (
            rf"\b(?:call (?:graph|edges|relations)|calls) (?:around|of|for|at|near) ({_NAME}) ,? ?(?:in both"
            r" directions|both ways)(?: ,? (?:incoming and outgoing|outgoing and incoming|in and out))?",
            r"call edges in both directions of \1",
        ),
        (
            rf"^(?:does|do) ((?:the [a-z]+ )?{_NAME}) have (?:any |some )?([a-z ]+?) [?.;,] if (?:yes|so"
            rf"|it does|it has|there are(?: any| some)?) (?:, )?{_READ} (?:me )?(?:them|those) ?[,;.]"
            r" (?:and |but )?(?:if (?:not|no|there are none|it does not)|otherwise|else) (?:, )?",
            r"if \1 has \2 , show them , otherwise ",
        ),
        (rf"\bshould ({_NAME}) turn out to have no ", r"if \1 has no "),
        # a fallback by another verb
        (
            r" ?[.;] (?:nothing|none|no luck|empty)(?: there| found| so far)? [?:;,.] (?:then )?(?:, )?",
            " , and if there are none , ",
        ),
        (r"^(?:please )?(?:(?:try|attempt)(?: to)?|start with) (.+?)(?: first)? (?=[,;.])", r"show \1 "),
        (r"(?<=, and )only (?=if )|(?<=, but )only (?=if )", ""),
        (r"\bshould (that|this|it) (?:come|turn) (?:back|up|out) (empty|blank)\b", r"if \1 comes back \2"),
        (
            r"(?<=[,;:] )(?:then )?(?:use|take|fall back (?:to|on)|go for|settle for|resort to"
            r"|switch to) (?=(?:its|the) )",
            "show ",
        ),
        (
            r"\bif the (?:lookup|query|search|first one) (?=(?:turns?|comes?|yields?|gives?|finds?|is))",
            "if it ",
        ),
    )
)
_PASSIVE = re.compile(
    rf"(?:^|(?<=[,;.?:] ))((?:the [a-z]+ )?{_NAME}) (?:is|are|was|gets?|got) ({'|'.join(_ACTIVE)})"
    r" (?:by|from) (?:whom|who|what)\b"
)
_FROM_WHERE = re.compile(
    rf"(?:^|(?<=[,;.?:] ))((?:the [a-z]+ )?{_NAME}) (?:is|are|gets?) (called|used|invoked|constructed)"
    r" (?:from )?where\b"
)
_OURS = re.compile(
    r"\bwhere (?:in (?:the |our )?(?:code(?: base)?|project|tests?) )?do (?:we|i|you|they)"
    rf" ({'|'.join(_PARTICIPLE)}) ((?:the [a-z]+ )?{_NAME})(?: from)?"
)
_ALONE = re.compile(
    r"^(«\d+») ?[,:;] (?=(?:what|who|which|where|when|how|show|list|give|tell|just|only|the|its)\b)"
)
"""A name alone before a question, the only one of the request."""
_EACH = re.compile(rf"^for (?:each|every) ([a-z-]+) (of|in) ({_NAME}) (?:, )?")
_HOME = re.compile(
    rf"(?:the )?(?:file|module) (?:(?:that|where|in which|which) )?({_NAME}) (?:is|was|lives|sits|stands)"
    r"(?: (?:defined|declared|located|found))?(?: in)?(?= ?[.?!,;]| ?$| and\b)"
)
_FILE_OF = re.compile(
    r"(?:the )?(?:source )?(?:file|module) (?:of|for|holding|containing|that holds)"
    rf" (?=(?:the [a-z]+ )?{_NAME})"
)
_ITS_FILE = re.compile(r"\b(?:its|their) (?:source )?(?:file|module)(?= ?[.?!,;]| ?$| and\b| then\b)")
_BY_FILE = re.compile(r"\b(?:histor|commit|log|revision|chang|cochang|impact|depend|import)")
"""Topics that are about the file of an entity anyway."""


def rephrased(line: str) -> str:
    """Return a scanned line with its turns of phrase in plainer words."""
    text = line
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    text = _PASSIVE.sub(lambda m: f"{_ACTIVE[m[2]]} {m[1]}", text)
    text = _FROM_WHERE.sub(r"where is \1 \2", text)
    text = _OURS.sub(lambda m: f"where is {m[2]} {_PARTICIPLE[m[1]]}", text)
    text = _EACH.sub(lambda m: f"list all {_plural(m[1])} {m[2]} {m[3]} and for each of them ", text)
    if _BY_FILE.search(text):
        text = _ITS_FILE.sub("it", _FILE_OF.sub("", _HOME.sub(r"\1", text)))
    if len(set(MARK.findall(text))) == 1:
        text = _ALONE.sub(r"take \1 , ", text)
    return " ".join(text.split())


def _plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith(("s", "x", "ch")) else f"{noun}s"
