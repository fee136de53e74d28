"""Closed word lists of the fragment of English."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


KINDS: dict[str, str] = {
    "class": "class",
    "classes": "class",
    "function": "function",
    "functions": "function",
    "method": "method",
    "methods": "method",
    "attribute": "attribute",
    "attributes": "attribute",
    "global": "global",
    "globals": "global",
    "module": "module",
    "modules": "module",
    "test-module": "test-module",
    "test-modules": "test-module",
    "commit": "commit",
    "commits": "commit",
}
"""Kind word -> the kind as a search names it."""

SINGULAR_KINDS = (
    "class|function|method|attribute|global|variable|constant|module|file|package|symbol|type|object"
    "|test-module|commit|property|field|routine|library"
)
"""Kind words that may stand beside a name, as a pattern."""

NOUN = (
    r"(?:functions?|methods?|class(?:es)?|modules?|code|places?|parts?|things?|files?|symbols?|entit(?:y|ies)"
    r"|definitions?|names?|sites?|pieces?|spots?|routines?|objects?|packages?|members?|components?|units?"
    r"|bits?|locations?|ones?|attributes?|commits?|revisions?|test-modules?|types?|lines?)"
)
"""Generic head nouns, as a pattern."""

FILLERS = words(
    "the a an all any every some please kindly exactly actually currently now just really simply"
    " precisely full"
    " complete entire whole short brief me us our my your directly ever anywhere somewhere else other own"
    " various different given existing again quickly also immediate concrete respective altogether"
    " together-all"
    " overall individual actual single only presently today here right so then ok okay well"
)
"""Words without a meaning of their own in a request; they are taken out before frames are tried."""

NEUTRAL = words(
    "show list give get fetch print display name names enumerate tell say report return find out look"
    " up determine"
    " identify work see describe explain summarise summarize outline count know read learn hear"
    " understand let"
    " want need would like to could can will do does did you i we is are was were be been there of in"
    " on at for"
    " from with by that which what who whose where how it s and have has had they those these this as into"
    " code thing things place places part parts function functions file files symbol symbols entity entities"
    " set answer lists listing overview graph index data one ones about exist exists existing been may might"
    " should must shall go take bring provide present reveal view check-out pull come us we're i'm"
    " i'd interested"
    " hand lay both dump produce output spell gather collect recall inform walk through point itemise itemize"
    " sketch draw map compute write read"
)
"""Words that may be left over beside a frame: openers, auxiliaries, prepositions, generic nouns."""

IDLE = words(
    "please kindly thanks thank you very much so well ok okay now then and just exactly hey hi hello"
    " which what ones one"
    " are is they it that those these show me us tell name list give them all let know here there go on the"
    " would could can i we want need like to see know"
)
"""Words of a clause that asks for nothing of its own."""

OPENER = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|well|so|now|then|next|first|second|third|finally|lastly|and|also"
    r"|but|afterwards"
    r"|after that|please|kindly|just|to begin with|(?:start|begin|starting|beginning|finish|end) with"
    r"|firstly|secondly|thirdly|in the end|at last|once"
    r" more) ,? ?)+"
)
"""Words that open a clause and carry nothing."""

POLITE = re.compile(
    r"^(?:(?:could|can|would|will) you (?:please |kindly )?"
    r"|i(?: would|'d) (?:like|love) (?:you )?to (?:know |see |have |get |find out |learn )?"
    r"|i(?: only| just)? (?:want|need|wish)(?: you)? to (?:know |see |have |get |find out |learn "
    r"|understand )?"
    r"|(?:only |just )?(?:want|need|wish) to (?:know |see |have |get |find out |learn )"
    r"|i (?:want|need) |do you know |tell me |let me (?:know|see) |i wonder |i am interested in "
    r"|what about |how about |go (?:and|ahead and) |please |kindly )+"
)
"""Wrappings of a request."""

ABOUT_PROJECT = re.compile(
    r" (?:in|of|within|across|over|from|throughout|inside|for|about)(?: (?:the|this|our|my|whole|entire))*"
    r" (?:code ?base|codebase|project|repository|repo|source tree|sources|source code|code)\b"
    r"(?! (?:that|which|does|do|calls?|uses?|'s))"
)
"""A phrase that means the whole graph."""

UNTESTED_ADJECTIVE = re.compile(r"\b(?:untested|uncovered|unprotected) ")

TAIL = re.compile(
    r" ?,? ?\b(?:(?:would|do|will|should|must|might|could|can|do not) (?:i|we|you) (?:then |have to "
    r"|need to )*"
    r"(?:touch|change|adapt|update|look at|visit|check|edit|run|rerun|re-run|pass|give|supply|provide|watch)"
    r"|to (?:pass|run|look at|supply|rerun|give)|are there|is there|there are|there is|exist|do you see"
    r"|at (?:the )?moment|right now|for (?:me|us)|to (?:me|us)|if any|by name|in total|as (?:a )?list"
    r"|at all|in (?:a )?(?:sentence|word|line)(?: or two)?|please|in detail|in short|one by one"
    r"|thanks|thank you"
    r"|alike|as well|too|in turn|type hints included|in (?:the )?class hierarchy|(?:in )?(?:a )?row)\b"
)
"""Phrases that may follow a frame."""

ORDER = re.compile(
    r"^(?:test|check|profile|commit|export|import|call|use|touch|change|type|log|value|cover|exercise"
    r"|detail|place|return|trigger"
    r"|document|annotate|extend|edit|construct|create|icon|picture|sprite|reach|effect|kind|info"
    r"|param|prototype|child|cochange) «(?!\d+» 's )"
)
"""Orders that look like the bare noun form of a topic: "test sow" is no question about tests."""

FOR_WHOM = re.compile(r" (?:for|to) (?:me|us)\b")

RESERVED = words(
    "it its this that them those these they each same i we you me us the a an of for to in on at by"
    " with from and"
    " or then if not no none nothing nobody what which who where when how why is are was were be do"
    " does did has"
    " have had will would can could should may might must show list give tell find"
)
"""Function words that are never the name of an entity."""
