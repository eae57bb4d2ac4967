r"""Whether a text reveals a name that must not be revealed.

    name      socialNumber
    reveals   "the social numbers", "user_social_number", "userSocialNumber2", r"\bSocial[_-]number\b"
    does not  "antisocial number"

A text reveals a name by its words, in any variant (`name_variants`), in the singular or plural, also within a longer
name. In scripts that do not set words apart, a name is revealed wherever it stands. Source: PRIVACY.md, P6 and P7.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object
from louver.core.policy.name_variants import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from louver.core.json import Json

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")

# Scripts without spaces between words, or where articles and endings join a word: Hebrew and Arabic, from Thai to
# Tibetan, Burmese, Khmer, Hangul, kana, Han, Yi, and the scripts of South East Asia.
_UNSPACED = (
    "\u0590-\u08ff\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u3005-\u3007\u3040-\u318f"
    "\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaadf"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_BEFORE = f"(?<![^\\W_{_UNSPACED}])"
_AFTER = f"(?![^\\W_{_UNSPACED}])"
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")

# Where a word of a compound name ends: userSsn, HTTPServer, userIDs, line2.
_WORD_END = re.compile(
    r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z\u00df-\u00ff])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])"
)
_WORD = re.compile(r"[^\W_]+")

# Of patterns: the code of a character, an escape such as `\b`, and a letter in both cases, `[Ss]`.
_CODE = re.compile(r"\\(?:u|x(?=[0-9a-fA-F]{2}(?![0-9a-fA-F]{2})))\{?([0-9a-fA-F]{2,6})\}?")
_ESCAPE = re.compile(r"\\[A-Za-z]")
_BOTH_CASES = re.compile(r"\[(\w)(\w)\]")


class Names:
    """Names that must not be revealed. A text that is one of the names in `shown` reveals nothing."""

    def __init__(self, names: Iterable[str], shown: Iterable[str] = ()) -> None:
        self._shown = frozenset(shown)
        keys = sorted({name for name in names if key_of(name)}, key=len, reverse=True)
        patterns = dict.fromkeys(pattern for name in keys for pattern in _patterns(name))
        # Boundaries are looked for, and compiled, once for all names and not for each.
        groups = [
            f"{before}(?:{'|'.join(found)}){after}"
            for before, after in product((_BEFORE, ""), (_AFTER, ""))
            if (found := [words for *around, words in patterns if around == [before, after]])
        ]
        self._pattern = re.compile("|".join(groups)) if groups else None

    def are_in_text(self, text: str) -> bool:
        """Whether a text reveals one of them."""
        if self._pattern is None or text in self._shown:
            return False
        return any(self._pattern.search(key_of(each)) for each in _readings(text))

    def are_in(self, value: Json) -> bool:
        """Whether a string or a member name within a value reveals one of them."""
        todo: list[Json] = [value]
        while todo:
            value = todo.pop()
            if isinstance(value, str) and self.are_in_text(value):
                return True
            if is_array(value):
                todo += value
            elif is_object(value):
                todo += value
                todo += value.values()
        return False


def _readings(text: str) -> set[str]:
    """The text, and the text with the words of compound names and of patterns apart."""
    # A key has no control characters, but line breaks separate words: the text is searched both ways.
    spaced = _CONTROLS.sub(" ", text)
    readings = {text, spaced, _WORD_END.sub(" ", spaced)}
    if "\\" in text or "[" in text:
        plain = _BOTH_CASES.sub(_one_case, _ESCAPE.sub(" ", _CODE.sub(_character, spaced)))
        readings |= {plain, _WORD_END.sub(" ", plain)}
    return readings


def _patterns(name: str) -> list[tuple[str, str, str]]:
    """The patterns of a name in the key of a text, each after the boundaries that it has: before it, and after it."""
    key = key_of(name)
    found = [(*_boundaries(key, key), re.escape(key))]
    words = _WORD.findall(key_of(_WORD_END.sub(" ", _CONTROLS.sub(" ", name))))
    if words:
        inflected = r"[\W_]*".join([*map(re.escape, words[:-1]), _inflected(words[-1])])
        found.append((*_boundaries(words[0], words[-1]), inflected))
    return found


def _boundaries(first: str, last: str) -> tuple[str, str]:
    """Whether a word begins before `first`, and ends after `last`."""
    return "" if _IS_UNSPACED.match(first) else _BEFORE, "" if _IS_UNSPACED.match(last[-1:]) else _AFTER


def _inflected(word: str) -> str:
    """The pattern of a word in the singular and the plural of English, and with short endings of other languages."""
    if not word.isascii():
        longest = 3 if len(word) > 3 else 1 if len(word) == 3 else 0
        return rf"{re.escape(word)}[^\W\d_]{{0,{longest}}}"
    if len(word) > 3 and word.endswith("ies"):
        return f"{re.escape(word[:-3])}(?:y|ies?)"
    if len(word) > 3 and word.endswith("y"):
        return f"{re.escape(word[:-1])}(?:y|ys|ies)"
    if len(word) > 4 and word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return f"{re.escape(word[:-2])}(?:e?s?)"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return f"{re.escape(word[:-1])}s?"
    return f"{re.escape(word)}(?:e?s)?"


def _character(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else " "


def _one_case(found: re.Match[str]) -> str:
    return found[1] if found[1].casefold() == found[2].casefold() else found[0]
