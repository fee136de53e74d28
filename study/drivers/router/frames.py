"""The frames of each topic: patterns over a bare clause in which ``E`` is the mark of an entity."""

from __future__ import annotations

import re

from study.drivers.router.lexicon import NOUN, words
from study.records import Record

_MACROS = {
    "S": r"(?:(?:who(?:ever)?|what(?:ever)?|which|everything|anything|something|everyone|anyone"
    rf"|those|{NOUN})"
    rf"(?: (?:{NOUN}|that|which|of|in))*)",
    "A": r"(?: (?:do|does|did|would|will|may|might|can|could|is|are|was|were|be|been|being|has|have"
    r"|get|gets|got"
    r"|tends? to|usually|often|typically|normally|always|currently|frequently|regularly|mostly"
    r"|generally|likely"
    r"|make use of by|tend))*",
    "V": r"(?:has|have|had|takes?|accepts?|expects?|needs?|requires?|wants?|defines?|contains?"
    r"|offers?|declares?"
    r"|gets?|provides?|owns?|holds?|comes with|made up of|consists? of|includes?|carr(?:y|ies)|went"
    r" through|exposes?"
    r"|goes through|go through|makes?|supports?)",
    "CALL": r"(?:calls?|invokes?|calling|invoking|triggers?|executes?|makes? calls? to|uses?|using"
    r"|makes? use of"
    r"|references?|refers? to|employs?)",
    "OUT": r"(?:calls?|invokes?|triggers?|executes?|uses?|makes? use of)",
    "CALLED": r"(?:called|invoked|used|constructed|instantiated|created|triggered|executed|referenced|built)",
    "CHANGE": r"(?:chang(?:es?|ed|ing)|modif(?:y|ies|ied|ying)|edit(?:s|ed|ing)?|touch(?:es|ed|ing)?"
    r"|alter(?:s|ed|ing)?|updat(?:es?|ed|ing)|rewrit(?:es?|ten|ing)|refactor(?:s|ed|ing)?|remov(?:es?|ed|ing)"
    r"|delet(?:es?|ed|ing)|break(?:s|ing)?|broke|broken|tak(?:e|en|ing) out|taken away|renam(?:es?|ed|ing)"
    r"|drop(?:s|ped|ping)?|replac(?:es?|ed|ing)|fails?|go(?:es)? away|disappears?|vanish(?:es|ed)?"
    r"|mov(?:es?|ed|ing))",
    "ALONG": r"(?: (?:together|along|in tandem|jointly|in step|at same time|in one commit|in same commits?"
    r"|hand in hand|side by side|in lockstep))",
    "DEEP": r"(?: ?,? (?:even if (?:only )?|whether )?(?:(?:directly|indirectly|transitively|further"
    r" down|through others"
    r"|immediately|not|or|and|at depth|at any depth)[ ]?)+)?",
    "PREP": r"(?:of|for|to|from|in|on|inside|within|by|below|under|beneath|around|behind|belonging to"
    r"|about|into)",
}


class Topic(Record):
    """How a topic is asked for.

    Attributes
    ----------
    triggers : frozenset of str
        Stems of which one at least must occur; only then are the patterns tried.
    patterns : tuple of re.Pattern
        With the group ``e`` where the clause names an entity.
    """

    triggers: re.Pattern[str]
    patterns: tuple[re.Pattern[str], ...]


def _compiled(pattern: str) -> re.Pattern[str]:
    text = re.sub(r"\{([A-Z]+)\}", lambda match: _MACROS[match[1]], pattern)
    head, mark, rest = text.partition("<E>")
    if mark:
        text = head + r"«(?P<e>\w+)»" + rest.replace("<E>", "«(?P=e)»")
    return re.compile(rf"(?<!\S){text}(?!\S)")


def _nominal(nouns: str) -> list[str]:
    """Return the frames in which a topic is a noun."""
    noun = f"(?:{nouns})"
    return [
        rf"{noun}(?: (?:that |which )?(?:are |is )?(?:there |defined |declared |available |found )?)?"
        rf" ?{{PREP}} <E>",
        rf"<E> 's {noun}",
        rf"<E> 's {noun}$",
        rf"{noun} (?:that |which |(?:does|do|did|has|have|is|are|should|can|must|could) )*<E>"
        rf"(?: (?:{{V}}|have|had))*",
        rf"(?:does|do|did|has|have|is|are)? ?<E>(?: {{V}}| got)* {noun}",
        rf"(?:does|do|did|has|have|is|are)? ?<E>(?: {{V}}| got)* {noun}$",
    ]


def noun_topic(nouns: str, triggers: str, *patterns: str) -> Topic:
    """Return a topic from its nouns (a pattern), its trigger stems (a pattern) and further frames."""
    frames = [*patterns, *(_nominal(nouns) if nouns else [])]
    return Topic(triggers=re.compile(rf"\b(?:{triggers})"), patterns=tuple(map(_compiled, frames)))


def plain_topic(triggers: str, *patterns: str) -> Topic:
    """Return a topic that is asked for without an entity, or only in the frames given."""
    return Topic(triggers=re.compile(rf"\b(?:{triggers})"), patterns=tuple(map(_compiled, patterns)))


_PARTS = r"(?:members?|methods?|attributes?|fields?|properties|functions|variables)"

TOPICS: dict[str, Topic] = {
    "description": noun_topic(
        r"descriptions?|summary|profile|details|definition|location|explanation|information|info"
        r"|facts|introduction"
        r"|kind and location|place of definition|kind|place|whereabouts|portrait",
        r"descri|summar|profil|detail|defin|locat|expla|info|facts|what|introduc|kind|place|where|portrait"
        r"|characteri|outline|about|tell|belong|file",
        r"(?:describe|explain|summari[sz]e|outline|introduce|characteri[sz]e|present|sketch) <E>$",
        r"^(?:what|who) (?:is|are|was) <E>(?: for| about| there for| good for| all about| doing| do)?$",
        r"what (?:kind|sort|type) of (?:thing|entity|symbol|object|name|element) (?:is )?<E>(?: is)?",
        r"^(?:(?:tell|explain|say|show|know|describe|summarise|see|understand) )?what <E> is(?: for|"
        r" about| there for| good for| all about)?$",
        r"what <E> is there for$",
        r"^what does <E> do$",
        r"^what am i (?:looking at|dealing with) <E>$",
        r"where (?:does|do) <E> (?:live|sit|stand|reside)(?: in code)?$",
        r"(?:tell|know|learn|something|information|info|details|more|say|facts|read|out) (?:something"
        r" |more )?about <E>",
        r"^about <E>$",
        r"where (?:can i find|do i find|can|is|does|are)? ?<E>"
        r"(?: (?:is|be|defined|declared|located|found|implemented|written|live|lives|stand|stands|sit"
        r"|sits|come from))+$",
        r"^where is <E>$",
        r"what (?:does )?<E> belongs? to",
        r"(?:which|what) (?:file|module|package|place) (?:is|does|contains|holds|defines|declares|has)? ?<E>"
        r"(?: (?:is|defined|declared|live|lives|written|belong to|in|located|stand|stands|come from))*$",
        r"in (?:which|what) (?:file|module|package|place) (?:is|does|can) <E>(?: (?:be|defined"
        r"|declared|live|written|located|stand|found))*$",
    ),
    "signature": noun_topic(
        r"(?:call )?signatures?|parameters?(?: list)?|arguments?(?: list)?|args|params|declaration(?:"
        r" line)?|prototype"
        r"|return type|return value|declared type|calling convention|type annotations?|type"
        r"|annotations?|returns|inputs"
        r"|(?:parameters|arguments) and (?:the )?return (?:type|value)|parameters? and defaults?|call"
        r" interface",
        r"signature|param|argument|args|declar|prototype|return|type|calling|annotat|accept|take"
        r"|expect|how|inputs|what"
        r"|call interface",
        r"(?:parameters|arguments|args|params|inputs|values)(?: (?:that|which|does|do|can|must|should"
        r"|is|are))* <E>"
        r" (?:takes?|accepts?|expects?|needs?|ha(?:s|ve)|wants?|requires?|gets?|called with|declared"
        r" with|understands?)",
        r"what (?:does|can|must|may|will)? ?<E> (?:accepts?|takes?|expects?|returns?|gives? back|want"
        r" as input)"
        r"(?: as (?:input|arguments|parameters))?(?: (?:and|or) (?:what (?:does )?it )?(?:returns?"
        r"|gives? back))?",
        r"how (?:is|do i|does one|can i|to|should i|would i|must i|must|should|can|do you|do we)"
        r" (?:call |invoke |use )?<E>"
        r"(?: be)?(?: (?:called|declared|invoked|used|typed))?(?: correctly| properly)?$",
        r"(?:arguments|parameters|args|params|values|what) (?:to pass|do i pass|should i pass|must i"
        r" pass|have to be passed"
        r"|must be passed|can i pass|do i have to pass|do i need to pass|can be passed|i have to pass"
        r"|i should pass|are passed)(?: (?:to|into) <E>)",
        r"(?:arguments|parameters) (?:are|is) (?:declared|accepted|taken|expected|needed|required) by <E>",
        r"way <E> (?:is|must be) (?:called|declared)",
        r"^(?:tell |say |show |see |know )?how <E> is (?:declared|called|typed|annotated)$",
        r"(?:in )?(?:what|which) order (?:does|do|must|should) <E> (?:expects?|takes?|wants?|needs?)(?:"
        r" <E> 's)?"
        r" (?:arguments|parameters|args)",
        r"(?:what|which) defaults? (?:does|do|has|have) <E> (?:have|has|set|give)?(?: for (?:<E> 's )?"
        r"(?:keyword |positional )?(?:arguments|parameters))?",
        r"(?:def|signature|declaration) line (?:of|for) <E>",
    ),
    "members": noun_topic(
        rf"{_PARTS}(?: (?:and|or|,|as well as)(?: its)? {_PARTS})*|contents?|body|innards|parts list"
        r"|class body|constituents",
        r"member|method|attribute|field|propert|content|bod(?:y|ies)|innard|function|variable|contain"
        r"|consist|defin|inside"
        r"|written|within|class|in |constit|compris|made|hold|look|declar",
        r"what (?:does|do) <E> (?:contain|consist of|define|hold|comprise|include|bring|have inside)",
        r"what <E> (?:contains|consists of|defines|holds|comprises|includes)",
        r"what (?:is|are|stands?|do i find|would i find|can be found|will i find|can i find|i"
        r" find)(?: written| defined| there| found)?"
        r" (?:in|inside|within)(?: body of| class)? <E>$",
        r"(?:everything|things|names)(?: that| which)?(?: is| are| stands?)?(?: written| defined|"
        r" declared| found)? (?:in|inside|within)"
        r"(?: body of)? <E>$",
        r"what (?:is|are) <E> made (?:up )?of",
        rf"{_PARTS}(?: and {_PARTS})? (?:are |is )?(?:written|defined|declared|found)? ?(?:in|inside"
        r"|within|by|on) (?:body of )?<E>",
        rf"{_PARTS} (?:of|in|on|from) <E> along with its {_PARTS}",
        rf"{_PARTS} (?:of|in|on|from) <E> ,? ?{_PARTS} too",
        r"(?:member|method|attribute|field) list (?:of|for) <E>",
        r"(?:what|everything|things) (?:is |are |that is )?(?:declared|defined|written) (?:on|in) <E>"
        r"(?: itself)?(?: ,? (?:leaving|ignoring|without|not counting) (?:<E> 's |its )?(?:parents|bases|base"
        r" classes)(?: aside)?)?$",
        r"look (?:in|into|at)(?: class)? <E> and (?:tell|show|see|say)(?: me)? what (?:<E>|it) (?:holds"
        r"|contains|has)",
        rf"{_PARTS}(?: and {_PARTS})? (?:that |which )?belong(?:ing)? to <E>(?: itself)?",
        r"(?:look|see) inside <E>",
    ),
    "subclasses": noun_topic(
        r"sub-?classes|subtypes|child classes|child(?:ren)?(?: and grandchildren)?|descendants?"
        r"|derived classes|specialisations?|heirs"
        r"|inheritors?|(?:inheritance|class) (?:tree|hierarchy)|offspring|derivations?|classes"
        r" derived|derivatives"
        r"|descendant classes|inheriting classes|classes (?:below|under|beneath)",
        r"sub-?class|subtype|child|descend|deriv|speciali|heir|inherit|hierarch|tree|extend|offspring"
        r"|grand|below|under|beneath|stem|based",
        r"{S}{A} (?:inherits?|inheriting|derives?|deriving|descends?|descending|derived|inherited"
        r"|descended|comes?|stems?|based)"
        r"{DEEP}(?: from| on) <E>{DEEP}",
        r"{S}{A} (?:extends?|extending|subclass(?:es|ing)?|specialis(?:es?|ing)) <E>{DEEP}",
        r"(?:is|has|was|does|are) <E>(?: been)? (?:subclassed|extended|specialised|inherited from"
        r"|inherited|derived from)"
        r"(?: by {S})?(?: ,? ?and if(?: so| yes)? ,? ?(?:by|in|from|through)? ?(?:which|what|whom)(?:"
        r" {NOUNS})?)?".replace("{NOUNS}", NOUN),
        r"(?:which|what) (?:classes|class) (?:is|are) (?:subclasses|children|descendants|subtypes) of <E>",
        r"(?:inheritance|class) (?:tree|hierarchy) (?:below|under|beneath|of|starting at|that starts"
        r" at|rooted at) <E>",
        r"classes (?:below|under|beneath|built on|based on) <E>",
        r"<E> (?:have|has) been derived",
    ),
    "exports": noun_topic(
        r"exports?|exported (?:names|symbols)|public (?:names|interface|api|surface|symbols|face"
        r"|part)|api|names to import|offerings?",
        r"export|public|api|avail|meant|namespace|scope|offer|expos|provid|publish|hand|import|choose"
        r"|interface|names to",
        r"(?:what|names|{S})(?: (?:does|do|is|are))? <E> (?:exports?|offers?|exposes?|provides?"
        r"|publish(?:es)?|hands? out|makes? public"
        r"|makes? available|offers? (?:for import|to others))(?: (?:to (?:the )?(?:outside|others"
        r"|outside world|public|modules|everyone|its users|world)"
        r"|for import|publicly))?",
        r"{S}(?: can| could| may)?(?: {S})?(?: can| could| may)? (?:be )?(?:imported|import) from <E>",
        r"{S}{A} (?:exported|offered|exposed|made public|published|handed out|provided) (?:by|from) <E>",
        r"import (?:something |anything )?from <E>",
        r"public in <E>",
        r"exports? list (?:of|for) <E>",
        r"(?:what|which names) (?:lands?|ends? up|arrives?|comes?) in (?:namespace|scope) (?:after|with"
        r"|by|from)"
        r" (?:a )?(?:star import|import star|wildcard import) (?:of|from) <E>",
        r"(?:definitions|names|functions|classes|parts) (?:of|in) <E> (?:are |is )?(?:that are )?meant for"
        r" (?:use(?: elsewhere)?|others|outside|modules|outside world|public)",
        r"what does <E> put on offer(?: for (?:<E> 's |its )?(?:importers|users|others))?",
    ),
    "callers": noun_topic(
        r"callers?|call sites?|calling (?:code|sites?|places|functions)|usages?|users|uses"
        r"|invocations|constructions|places of use"
        r"|calls (?:to|of|into)|incoming (?:calls|call edges|edges)|instances (?:created )?",
        r"call|invo|us(?:e|ing|age)|construct|instan|trigger|execut|refer|incoming|makes|made|employ|creat",
        r"{S}{A} {CALL} <E>(?: by calling it)?",
        r"{S}{A} (?:constructs?|creates?|instantiates?|builds?|makes?)(?: new)?(?: instances?|"
        r" objects?)?(?: of)? <E>",
        r"calls (?:to|of|into|that reach|that go to|made to|going to|coming into) <E>",
        r"(?:from )?where(?:ver)?(?: in code)?{A} <E>{A} {CALLED}(?: from)?",
        r"(?:is|are|does|do|gets?) <E>{A} {CALLED}(?: by {S}| from(?: where)?| where)?$",
        r"by (?:whom|what|which {S}){A} <E>{A} {CALLED}",
        r"(?:what|who|whatever) (?:gets|makes) <E> called",
        r"uses? of <E>",
        r"where{A} (?:new )?(?:instances?|objects?)(?: of)? <E>{A} {CALLED}",
        r"{S}(?: where| in which| from which)?{A} <E>{A} {CALLED}(?: from)?$",
        r"call (?:site|place)s? (?:of|for|where) <E>",
        r"{S}(?: that| which)? (?:has|have|with|contains?|holds?) (?:a |an )?calls? (?:to|of|into) <E>",
        r"{S}{A} (?:still )?{CALL} <E> by calling (?:it|<E>)",
        r"where (?:new )?<E> (?:objects?|instances?) (?:is|are) (?:made|created|constructed|built)",
        r"(?:spots?|places?|code)? ?where (?:a |an )?(?:new )?<E>(?: objects?| instances?)? (?:is|are|gets?)"
        r" (?:made|created|constructed|built|instantiated)",
    ),
    "callees": noun_topic(
        r"callees?|outgoing (?:calls|call edges|edges)|calls? (?:made|done|issued|placed)|called functions",
        r"call|invo|outgoing|uses?|trigger|execut|hand|pass|delegat|forward|edges",
        r"{S}(?: {S})?(?: (?:does|do|did|will|is|would|can))* <E> (?:itself )?{OUT}",
        r"calls? (?:that |which )?(?:does |do |will |did )?<E> (?:makes?|performs?|issues?|does|do"
        r"|contains?|executes?)",
        r"calls? (?:that )?(?:are |is |get |being )?(?:made |done |issued |placed )?(?:by|from|inside"
        r"|in|within|out of) <E>",
        r"{S}{A} {CALLED} (?:by|from|inside|within|in|out of) <E>",
        r"(?:inside|within|in|from) <E> ,? ?{S}{A} {CALLED}",
        r"{S} (?:is|are|get|gets) (?:called|invoked|used) when <E> runs",
        r"calls (?:inside|within) <E>",
        r"what (?:does|do|will) <E> (?:hands?|passes?|delegates?|forwards?)(?: work)? (?:to|on to|over to)",
        r"(?:direct )?call targets? (?:of|for) <E>",
        r"(?:calls?|edges) (?:that )?(?:leaves?|leaving|goes? out (?:of|from)|going out (?:of|from)) <E>",
        r"{S}(?: that)? <E> {OUT}",
    ),
    "calls": noun_topic(
        r"call (?:edges|relations|relationships|links|graph|neighbours|neighbourhood|connections)(?:"
        r" (?:to and from|in both directions|into and out of))?"
        r"|calls (?:to and from|from and to|into and out of|in and out of|out of and into)"
        r"|(?:incoming and outgoing|outgoing and incoming)"
        r" (?:calls|call edges|edges)|both (?:sides|directions|ends)",
        r"call|both|wired|edges|incoming|sides",
        r"both (?:sides|directions|ends) of <E>(?: ?[:,] ?(?:what|who) {CALL} <E> and (?:what|whom"
        r"|who) <E> {OUT})?",
        r"how is <E> (?:wired(?: up| in)?|connected|linked)(?: (?:by calls|to rest))?(?: ?,? as"
        r" caller and as callee)?",
        r"(?:call edges|calls|edges|call relations) (?:of|for|around|at) <E> ?,? (?:incoming and"
        r" outgoing|outgoing and incoming"
        r"|in both directions|both ways|in and out|to and from)",
        r"call (?:into|to) and (?:out of|from) <E>",
        r"calls? (?:that |which )?(?:involves?|involving|concerns?|touch(?:es)?) <E>",
        r"call (?:neighbourhood|neighborhood|neighbours) (?:of|around) <E>(?: ,? (?:upstream and downstream"
        r"|downstream and upstream|both ways))?",
        r"calls on both (?:sides|ends) of <E>",
        r"calls (?:that )?(?:lead|go) (?:to and from|to or from|into or out of) <E>",
        r"{S} calls <E> or is called by <E>",
    ),
    "tests": noun_topic(
        r"(?:unit )?tests?(?: modules?| files?| cases?)?|test-modules?|(?:test )?coverage|parts of"
        r" test suite|tests? (?:suites?|code)",
        r"test|cover|exercis|check|verif",
        r"(?:tests?|test-modules?|test-files?|test suite|{S}(?: (?:of|in))?(?: (?:tests?|test suite"
        r"|test-modules?))?)"
        r"(?: (?:that|which|is|are|there))*{A} (?:cover|exercise?|exercis|test|check|touch|use|call|verif|hit"
        r"|mention|target|run through|concern)"
        r"(?:s|es|y|ies|ing)? <E>",
        r"(?:where|how|by what|by which tests?|by which test-modules?|in which (?:tests?"
        r"|test-modules?))(?: in test suite)?{A} <E>{A}"
        r" (?:tested|covered|exercised|checked|verified)",
        r"(?:is|are|does|has) <E>{A} (?:tested|covered|exercised|checked)(?: by {S}| by (?:which"
        r" )?(?:tests?|test-modules?))?$",
        r"(?:what|who) (?:tests|exercises|covers) <E>",
        r"(?:tests?|test-modules?)(?: that| which)? (?:would|will|could|might) (?:fail|break|go red)(?:"
        r" first)?"
        r" (?:if|when|once) <E> (?:went wrong|goes wrong|breaks?|broke|fails?|failed|is broken)",
        r"how (?:is|are) <E> (?:tested|covered|exercised|checked)(?: by (?:test suite|tests?"
        r"|test-modules?))?",
        r"tests? code (?:of|for|about) <E>",
        r"tests?(?: (?:should|do|must|would|have|need|ought|can|could|to|is|are|will|i|we|be|run"
        r"|rerun|re-run|look|at|it makes sense|break|fail|affected|matter|relevant))*"
        r" (?:after|when|if|for|before|once|by)(?: (?:i|we|you))?(?: {CHANGE})?(?: (?:to|in|of))? <E>(?:"
        r" {A} ?{CHANGE})?",
        r"(?:is|are) there tests? (?:for|of) <E>",
    ),
    "untested": plain_topic(
        r"untested|uncovered|test|coverage|cover",
        r"(?:untested|uncovered)(?: {S})?",
        r"{S}{A} (?:untested|uncovered|not (?:yet )?(?:tested|covered|exercised|named)(?: (?:by|in"
        r"|with) (?:tests?|test suite|test-modules?))?)",
        r"{S}{A} (?:not have|lacks?|lacking|miss(?:es)?|without|has no|have no|have not|with no|with"
        r" zero|not covered by|not have"
        r"|not named by|not named in|not touched by|not exercised by)"
        r" (?:tests?|test coverage|coverage|test-modules?|unit tests?)",
        r"{S}(?: is| are)?(?: that| which)? no (?:tests?|test-modules?|one) (?:covers?|names?"
        r"|exercises?|touch(?:es)?|mentions?|tests?)",
        r"(?:gaps?|holes?) (?:are |is )?(?:there )?(?:in|of) (?:test )?(?:coverage|suite|tests|test suite)",
        r"(?:test )?(?:tests?|coverage) (?:is |are )?(?:missing|lacking|absent)",
        r"{S}{A} (?:not )?(?:tested|covered|named|touched) by no(?:thing| tests?)",
        r"missing tests?",
        r"(?:test|testing|coverage) gaps?$",
        r"{S}(?: that| which)? (?:tests?|test suite|test-modules?) (?:never|do not|does not)"
        r" (?:mentions?|touch(?:es)?"
        r"|names?|covers?|exercises?|tests?|reach(?:es)?)",
    ),
    "impact": noun_topic(
        r"impact|dependents?|reverse dependenc(?:y|ies)|blast radius|importers|consequences|ripple"
        r" effects?|fallout|knock-on effects?|reach"
        r"|(?:direct and indirect )?dependent modules|dependent code|importing modules|transitive"
        r" (?:dependents|importers)|effects?",
        r"impact|depend|radius|import|consequence|ripple|fallout|knock|reach|break|affect|rel(?:y"
        r"|ies)|need|requir|down|effect|stop|spread|suffer"
        r"|if|when|us(?:e|ing)|built|hang|propagat|leak|travel|without|backward",
        r"(?:impact|consequences|effects?|blast radius|fallout|ripple effects?|reach|knock-on"
        r" effects?)(?: {V}| does)? (?:of|from|after|on|has|have)?"
        r" ?(?:{CHANGE}|change|removal|changes|modification|edit)?(?: (?:to|in|of|from))? <E>(?:"
        r" (?:has|have|would have))?",
        r"{S}{A}(?: (?:transitively|indirectly|or indirectly))* (?:depend(?:s|ing|ent)?|rel(?:y|ies"
        r"|ying)|built|builds?|hangs?)(?: directly"
        r" or indirectly| indirectly| in turn)? (?:up)?on <E>{DEEP}",
        r"{S}{A}(?: (?:transitively|indirectly|or indirectly))* (?:imports?|importing|needs?|needing"
        r"|requires?|requiring)(?: directly or"
        r" indirectly)? <E>{DEEP}",
        r"(?:modules?|files?|packages?)(?: that| which)?{A} (?:uses?|using) <E>{DEEP}",
        r"(?:impact|affected) set (?:of|for) <E>",
        r"{S}{A} (?:stop(?:s)? working|break|breaks|fail|fails|not work|be broken) without <E>",
        r"(?:impact|blast radius|fallout|reach) (?:of|for) <E> in terms of modules",
        r"(?:follow|trace|walk) imports backwards? from <E> ?[:;,]? ?{S} (?:do|does|can|would|will)? ?"
        r"(?:you|i|we|one) (?:reach|find|hit|get to|arrive at)",
        r"(?:in|into|to) (?:which|what) modules? (?:can|could|may|might|would|does) (?:a )?(?:bug|change"
        r"|defect|error"
        r"|problem) (?:in|of|to) <E> (?:leak|spread|reach|travel|propagate)",
        r"how far (?:does|do) <E> reach (?:through|via|along) imports?",
        r"{S}{A} (?:(?:sits?|lies?|lives?|stands?) )?downstream (?:of|from) <E>",
        r"(?:if|when|once|after|should|suppose|in case|were|assuming)(?: (?:i|we|you|someone"
        r"|somebody))?(?: (?:were|was|would|want|decide|have|had|to))*"
        r" {CHANGE}(?: (?:something )?(?:to|in|of|inside))? <E> ,? ?(?:then )?(?:{S}|how much|how"
        r" many)?(?: {S})?{A} (?:breaks?|break with (?:it|<E>)|be affected|affected"
        r"|go(?:es)? down(?: with (?:it|<E>))?|stops? working|suffers?|impacted|notice|feel it|fails?"
        r"|hit|broken|follow|be touched)(?: as well| too)?",
        r"(?:if|when|once|after|should|suppose|in case|were|assuming) <E>{A} (?:to )?{CHANGE} ,?"
        r" ?(?:then )?(?:{S}|how much)?(?: {S})?{A} (?:breaks?"
        r"|affected|go(?:es)? down(?: with (?:it|<E>))?|stops? working|suffers?|impacted|notice|feel"
        r" it|fails?|hit|broken|follow)(?: as well| too)?",
        r"(?:{S}|how much|how far)(?: {S})?{A} (?:breaks?|affected|go(?:es)? down|stops? working"
        r"|suffers?|impacted|feel it|fails?|hit|broken|happens)"
        r" (?:with|by|if|when|once|from|after|should)(?: (?:i|we|you|someone|somebody))?(?:{A}"
        r" {CHANGE}| change| changes)?(?: (?:to|in|of))? <E>"
        r"(?:{A} (?:to )?{CHANGE})?",
        r"how (?:far|much|wide|widely)(?: (?:through|across|into) (?:modules?|code))?(?: (?:do|does"
        r"|would|will|can|could))? (?:change|changes)"
        r"(?: (?:to|in|of)) <E> (?:spread|reach|go|propagate|ripple)",
        r"(?:do|does) <E>{A} affects?",
        r"(?:what|which {S}) (?:does|would|will|can) (?:{CHANGE} <E>|change (?:to|in|of) <E>)"
        r" (?:affect|break|impact|reach|touch)",
    ),
    "history": noun_topic(
        r"(?:commit |change |revision |git |version )?histor(?:y|ies)|commits?|revisions?|commit"
        r" (?:log|list|ids)|git log|log|change ?log|changes|past changes"
        r"|edits|modifications|past",
        r"histor|commit|revision|log|changelog|changes?|evol|modif|edit|when|how|touch|developed|past",
        r"(?:which|what|who|commits?|revisions?|changes)(?: (?:commits?|revisions?|changes|ones?|that"
        r"|which))*{A} (?:changed|touched"
        r"|modified|went into|affected|edited|altered|updated"
        r"|concern(?:ed)?|involve(?:d)?|change|touch|modify|include|hit|contain(?:ed)?) <E>",
        r"when(?: (?:was|did|were|has|is))? <E>{A}(?: last| recently| been| most recently)*"
        r" (?:changed?|modified|touched|edited|altered|updated)(?: last| recently)?",
        r"when (?:did|was) (?:someone|anyone|somebody)(?: last)? (?:change|touch|edit|modify) <E>(?: last)?",
        r"how (?:has|did|have)? ?<E>(?: has)? (?:evolved?|developed?|changed)(?: (?:over time|so far"
        r"|in repository|over years|in past))?",
        r"(?:in |by |with |through )?(?:which|what) (?:commits?|revisions?)(?: of repository)?{A}"
        r" <E>{A} (?:changed|modified|touched|edited|altered|updated)",
        r"(?:commits?|revisions?|changes)(?: (?:that|which|has|did|have))* <E> (?:went|gone|been|has"
        r"|go|passed)(?: (?:been|gone|went))? through",
        r"(?:commits?|revisions?|changes) (?:made |done |that went )?(?:to|into|on|in) <E>",
        r"(?:histor(?:y|ies)|commits) of <E> ,? ?commit by commit",
        r"(?:commits?|revisions?) with (?:a |any )?changes? (?:to|in|of) <E>",
        r"(?:commits?|revisions?)(?: in which| where)? <E>{A} (?:changed|modified|touched|edited)",
    ),
    "cochanges": noun_topic(
        r"cochanges?|cochanged? (?:modules|files)|cochanging (?:modules|files)|change (?:partners"
        r"|companions|coupling)|cochange partners?"
        r"|(?:modules|files) cochanging",
        r"cochang|change|modif|commit|edit|together|along|hand|tandem|companion|partner",
        r"(?:{S}|there)?(?: {S})?{A}(?: that)?{A} (?:{CHANGE}|committed|go(?:es)?|move|evolve)(?:"
        r" frequently| usually| often)?{ALONG}(?: with)? <E>"
        r"(?: in (?:commit log|history|same commits?|log))?",
        r"(?:{S}){A} (?:{CHANGE}|committed)(?: usually| often)? (?:with|in same commits? as|at same"
        r" time as|in commits with|whenever|when|each time) <E>"
        r"(?: (?:changes|is|gets|was|does)(?: {CHANGE})?)?",
        r"(?:whenever|when|each time|time|if) <E>{A} {CHANGE} ,? ?{S}(?: else)?{A}(?: to)?(?: be)?"
        r" (?:{CHANGE}|committed)"
        r"(?: (?:in same commits?|too|as well|with (?:it|<E>)|along|along with (?:it|<E>)|together"
        r" with (?:it|<E>)|at same time|alongside))*",
        r"(?:{S}{A} )?cochang(?:es?|ed|ing) with <E>",
        r"(?:share|shares|sharing) commits with <E>",
        r"what is <E> coupled (?:to|with) ,? ?(?:judging by|according to|going by|by) (?:commits?"
        r"|history|log)",
        r"{S}{A} (?:moves?|changes?|evolves?) together with <E> in (?:version control|git|history|commits?)",
        r"in same commits? as <E>",
    ),
    "architecture": noun_topic(
        r"architecture|(?:module |package )?(?:structure|layout|organisation|overview|map|tree"
        r"|hierarchy)|modules (?:and (?:their )?imports)?"
        r"|import (?:structure|graph|relations|cycles)|module imports|submodules|modules|sub-modules|outline",
        r"architect|structure|layout|organis|overview|map|tree|hierarch|modules|import|laid"
        r"|structured|split|arranged|divided|submod|built",
        r"how (?:is|are|does|do)? ?<E>(?: is)? (?:organised|structured|laid out|built up|built"
        r"|arranged|split(?: up)?|divided|put together)"
        r"(?: (?:into|in|by|as|from) (?:modules|packages|parts))?",
        r"how (?:do )?(?:modules|parts|files|submodules) (?:of|in|inside|within|below|under) <E>"
        r" (?:import|depend on|use|relate to|are connected to|hang together)"
        r"(?: each-other)?",
        r"modules (?:are |is )?(?:there )?(?:contained |found )?(?:below|in|inside|of|under|within"
        r"|beneath) <E>",
        r"modules (?:that )?(?:belong to|make up|are part of|lie in|live in|sit in) <E>",
        r"modules (?:does|do) <E> (?:have|contain|consist of)",
        r"modules (?:is|are)(?: package)? <E> (?:made (?:up )?of|composed of|built (?:up )?(?:of|from)"
        r"|(?:split|divided) (?:up )?into)",
        r"(?:import )?cycles (?:in|of|among|between) (?:modules of )?<E>",
        r"(?:architecture|import cycles|import graph|import structure|(?:module|package"
        r"|project) (?:structure|layout|overview|map|organisation))",
        r"(?:structure|layout|organisation|module map)$",
        r"(?:overview|map|layout|structure|organisation|list) of (?:project 's )?(?:modules|project"
        r"|packages)(?: and"
        r" (?:of )?their imports)?",
        r"(?:project|code|it all|code base|modules) (?:is |are )?(?:organised|structured|laid out"
        r"|built up|arranged|split(?: up)?|divided)"
        r"(?: (?:into|in|by) (?:modules|packages|parts))?",
        r"how (?:is|are) (?:project|code|code base|modules|repository) (?:organised|structured|laid"
        r" out|built up|arranged|split(?: up)?|divided)"
        r"(?: (?:into|in|by) (?:modules|packages|parts))?",
        r"how (?:do )?(?:modules|files|parts|they)(?: of (?:project|code base|code|repository))? (?:fit"
        r"|hang|work)"
        r" together",
        r"modules (?:are there|exist|do we have)",
        r"who imports whom",
        r"how (?:do )?(?:modules|they) (?:import|depend on|relate to|use) each-other",
        r"modules (?:that )?(?:make up|form|belong to|lie in|live in) (?:this )?(?:project|code|code base"
        r"|repository)",
        r"modules (?:is|are) (?:project|code|repository) (?:made (?:up )?of|composed of|built (?:from|of))",
        r"modules (?:and their imports|(?:is |does )?(?:project|code base) (?:consist of|have|contain"
        r"|made of))",
    ),
    "related": noun_topic(
        r"related (?:terms|words|facts|concepts|entries|things)|synonyms?|associations?|relatives"
        r"|related|relations",
        r"relat|synonym|associat|similar|connected",
        r"{S}{A} (?:related|associated|connected|similar|linked|synonymous) (?:to|with) <E>",
        r"(?:synonyms|associations|relatives|terms) with <E>",
        r"(?:terms|words) (?:related|associated|similar) (?:to|with) <E>",
        r"what (?:is|are) <E> (?:related|associated) (?:to|with)",
    ),
    "sprite": noun_topic(
        r"sprites?|picture|icon|pixel (?:art|picture)",
        r"sprite|picture|icon|pixel",
        r"what does sprite (?:of|for) <E> look like",
    ),
}
"""Topic -> how it is asked for. The order carries no meaning: the longest reading decides."""

COORDINATED: dict[str, tuple[frozenset[str], Topic]] = {
    "calls": (
        words("callers callees"),
        plain_topic(
            "call|invo|us",
            r"(?:what|who|{S}){A} {CALL} <E> ,? ?and (?:what|whom|who|which {S})(?: does)? <E> {OUT}",
            r"(?:what|whom|who)(?: does)? <E> {OUT} ,? ?and (?:what|who|{S}){A} {CALL} <E>",
        ),
    ),
}
"""Topic -> the topics that it joins, with the frames that name both; unless both are known."""

NEEDLESS = words("architecture untested")
"""Topics that may be asked for without an entity."""
