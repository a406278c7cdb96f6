"""Things a model says instead of doing its work, and things that must never be written down.

Each function gives the offending words of a text, "" if there are none. Inline code and quotations
are looked past where quoting such words is legitimate.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from pipeline.late import late
from pipeline.text.tongues import LATIN, spelt

_NOT_LATIN = regex.compile("[^\x00-\u024f\u2000-\u206f]")  # signs of punctuation are everybody's


class _Elsewhere:
    """What a field of the tongues says, in any language but English."""

    def __init__(self, field: str) -> None:
        self._any = late(spelt(field), regex.IGNORECASE)
        self._latin = late(spelt(field, LATIN), regex.IGNORECASE)

    def search(self, text: str) -> regex.Match[str] | None:
        """As of a pattern; a sixth of the time for a text that can be in few of the languages."""
        return (self._any if _NOT_LATIN.search(text) else self._latin).search(text)


_QUOTED = late(r"```.*?```|`[^`\n]*`|“[^”]*”|\"[^\"\n]*\"|«[^»]*»|「[^」]*」", regex.DOTALL)

_REFUSAL = late(
    r"""\bas\san?\s(?:ai|artificial\sintelligence|(?:large\s)?language\smodel)\b
    |\bi(?:'m|\sam)\s(?:sorry|unable|not\sable|just\san\sai)\b
    |\bi\s(?:cannot|can't|can\snot|won't|will\snot|am\snot\sable\sto)\b
    |\b(?:cannot|can't|unable\sto)\s(?:assist|comply|help\swith|fulfil+|provide\s(?:that|this|the))
    |\bno\s(?:relevant\s)?(?:information|facts?|claims?)\s(?:is|are|was|were|can|could)?\s?
      (?:available|provided|found|given|be\sextracted)
    |\bnot\senough\s(?:information|context)\b|\bthere\s(?:is|are)\sno(?:thing)?\s(?:to\s(?:add|report|extract)
      |new\s(?:facts|information))""",
    regex.IGNORECASE | regex.VERBOSE,
)
_REFUSAL_ELSEWHERE = _Elsewhere("refusal")
_ELISION = late(
    r"""\[\s*(?:\.\.\.|…)\s*\]|\(\s*(?:\.\.\.|…)\s*\)|^[ \t]*(?:\.\.\.|…)[ \t]*$
    |\b(?:the\s)?(?:rest|remainder|remaining\s\w+|other\ssections?|everything\selse)\s(?:of\s[\w\s]{1,30}\s)?
      (?:is\s|are\s|remains?\s|stays?\s)?(?:unchanged|as\s(?:before|is)|the\ssame)\b
    |[\[(<]\s*(?:unchanged|existing\s\w+|no\schanges?|omitted|truncated|continued?|rest\sof[^\])>]*|previous\scontent)\s*[\])>]
    |\b(?:existing|previous)\s(?:content|text)\s(?:here|unchanged|omitted|above)\b
    |\bcontent\s(?:omitted|truncated)\b""",
    regex.IGNORECASE | regex.VERBOSE | regex.MULTILINE,
)
_ELISION_ELSEWHERE = _Elsewhere("elision")
_META_TALK = late(
    r"""\b(?:the\s)?user\s(?:is\sasking|asks?\b|asked\s(?!for\s(?!help|advice|an?\sexplanation|clarification|information|guidance))
      |inquired|wonders|wondered|greet\w+|thank\w+|says\shello|wants\sto\sknow|wanted\sto\sknow|seeks|sought)
    |\bin\s(?:this|the|our)\s(?:conversation|chat|session|discussion|transcript|dialogue|exchange)\b
    |\bthe\s(?:conversation|chat|transcript|discussion|dialogue|exchange|messages?)\s(?:is|was|are|were|covers?
      |discuss\w*|shows?|mentions?|contains?|includes?|revolves|between|begins?|ends?|does|do)\b
    |\bthe\sassistant\s(?:asks?|asked|repl\w+|respond\w*|answer\w*|says?|said|explain\w*|provid\w+|offer\w*|thank\w*
      |greet\w+|helps?|helped|understands?|will|is\sasked)\b
    |\b(?:here\s(?:is|are)|below\s(?:is|are)|following\s(?:is|are))\s(?:the|your|an?|some)\s
      (?:\w+\s)?(?:updated|revised|new|rewritten|merged|summary|section|article|text|claims?|sentences?|facts?|list)\b
    |\b(?:this|the)\s(?:new\s)?(?:article|section|paragraph|summary)\s(?:has\sbeen|was|is\snow)\s(?:updated|rewritten|revised|extended)
    |\bas\s(?:you\s)?(?:requested|instructed)\b|\blet\sme\sknow\sif\b|\bi\s(?:hope|have\s(?:updated|added|merged|rewritten))\b
    |\b(?:the|these)\s(?:claims?|facts?)\s(?:above|below|given|provided|agrees?|state)\b
    |\bthe\sfact\sagrees\swith\b|\bthe\suser\sand\sthe\sassistant\b""",
    regex.IGNORECASE | regex.VERBOSE,
)
_META_ELSEWHERE = _Elsewhere("meta")
_ECHO = late(
    r"""\$\{?[a-z_]{2,}\}?(?![\w/])|\{\{?\s*[a-z_]{2,}\s*\}?\}|<\s*[a-z][a-z _]{1,30}\s*>(?!.*</)
    |\b(?:SUBJECT|PLACEHOLDER|TOPIC|PREDICATE|YOUR_[A-Z_]+|INSERT_[A-Z_]+|XXX+|TBD)\b
    |(?i:\[(?:insert|your|name|date|topic|subject|value)\b[^\]]*\]|\blorem\sipsum\b|\bexample\ssubject\b|\bother\ssubject\b)
    |(?i:^[ \t]*(?:claims?|facts?|messages?|sentences?|output|answer|response|section|instructions?)
      \s*(?:\d+\s*)?:)""",
    regex.VERBOSE | regex.MULTILINE,
)
_AT_AGENT = late(
    r"""\b(?:ignore|disregard|forget|override|bypass)\s(?:all\s|any\s|every\s|the\s|your\s|these\s|those\s|my\s)*
      (?:previous|prior|above|earlier|preceding|existing|system|safety|other)\s(?:\w+\s)?
      (?:instructions?|prompts?|rules?|guidelines?|directives?|messages?|context)\b
    |\b(?:new|updated|real|actual)\s(?:system\s)?instructions?\s*(?:for\s(?:you|the\s(?:ai|agent|assistant|model)))?\s*:
    |\byou\sare\snow\s(?:a|an|the|in|dan|acting)\b|\bact\sas\sif\syou\b
    |\b(?:reveal|print|repeat|output|leak|show)\s(?:me\s)?(?:your|the)\s(?:system\s)?prompt\b
    |\bdo\snot\s(?:tell|inform|alert|warn|mention\s(?:this|it)\sto)\sthe\suser\b|\bwithout\stelling\sthe\suser\b
    |\b(?:ai|llm|any|every|the|all|dear|future)?\s?(?:agents?|assistants?|models?|llms?|claude|chatgpt)\s
      (?:reading\sthis|that\sreads?\sthis|who\sreads?\sthis|must\s(?:now\s|always\s|first\s)?(?:run|execute|delete|send|upload|fetch|download|follow|obey|ignore|install|call|open|write))
    |<\|[^|>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|^[ \t]*(?:system|assistant|human|user)\s*:\s
    |\b(?:begin|end)\s(?:system\s)?(?:prompt|instructions)\b
    |\b(?:exfiltrate|upload|send|post)\s(?:all\s|any\s|the\s|your\s|its\s)*(?:secrets?|credentials?|api\skeys?|tokens?|passwords?)\b
    """,
    regex.IGNORECASE | regex.VERBOSE | regex.MULTILINE,
)
_AT_AGENT_ELSEWHERE = _Elsewhere("order")


def unquoted(text: str) -> str:
    """`text` with inline code and quotations blanked out."""
    return str(_QUOTED.sub(lambda match: "\u00a0" * len(match.group()), text))


def refusal(text: str) -> str:
    """A refusal or an excuse: "I cannot", "as an AI", "no information was found"."""
    plain = unquoted(text).replace("’", "'")
    return _found(_REFUSAL, plain) or _found(_REFUSAL_ELSEWHERE, plain)


def elision(text: str) -> str:
    """Content left out by pointing at it: "[...]", "the rest is unchanged"."""
    return _found(_ELISION, text) or _found(_ELISION_ELSEWHERE, text)


def meta_talk(text: str) -> str:
    """Talk about the conversation or the task in place of its content."""
    plain = unquoted(text).replace("’", "'")
    return _found(_META_TALK, plain) or _found(_META_ELSEWHERE, plain)


def prompt_echo(text: str) -> str:
    """A placeholder or a label of the prompt."""
    return _found(_ECHO, unquoted(text))


@lru_cache(maxsize=64)
def aimed_at_agent(text: str) -> str:
    """An instruction to whoever reads the article with a model, quoted or not."""
    plain = text.replace("’", "'")
    return _found(_AT_AGENT, plain) or _found(_AT_AGENT_ELSEWHERE, plain)


def _found(pattern: regex.Pattern[str] | _Elsewhere, text: str) -> str:
    match = pattern.search(text)
    return match.group().strip() if match else ""
