"""Korean particles follow the sound that the word before them ends with.

```
브로커 1(일)이   브로커 2(이)가   3(삼)으로   1(일)로   10(십)을   orders-0(영)은
```
`ending` hears the last letter, number or Latin word: "" for a vowel, "l" for ㄹ (which takes 로, not 으로), "c" for
any other consonant. Closing brackets and quotes are not heard. `static/i18n/particles.js` hears the same in the
browser; a test holds the two together.
"""

from __future__ import annotations

import re

FIRST_SYLLABLE, LAST_SYLLABLE = 0xAC00, 0xD7A3
FINALS = 28  # a syllable's number modulo this is its final consonant; 0: none, 8: ㄹ
DIGITS = ("c", "l", "", "c", "", "", "c", "l", "l", "")  # 영 일 이 삼 사 오 육 칠 팔 구
NAMES = {"l": "l", "r": "l", "m": "c", "n": "c"}  # 엘 알 엠 엔; every other letter's name ends in a vowel


def ending(text: str) -> str:
    """How a text ends: "" vowel, "l" ㄹ, "c" another consonant."""
    heard = re.sub(r"""[\s)\]}>"'”’」』.,:;!?]+$""", "", text)
    if not heard:
        return ""
    number = ord(heard[-1])
    if FIRST_SYLLABLE <= number <= LAST_SYLLABLE:
        return {0: "", 8: "l"}.get((number - FIRST_SYLLABLE) % FINALS, "c")
    if "0" <= heard[-1] <= "9":
        return _ending_of_number(heard)
    word = re.search(r"[A-Za-z]+$", heard)
    return _ending_of_latin(word[0]) if word else ""


def particle(text: str, pair: str) -> str:
    """The one of a pair "이/가" (after a consonant / after a vowel) that fits after `text`."""
    closed, _, opened = pair.partition("/")
    heard = ending(text)
    if closed.startswith("으") and heard == "l":
        return opened
    return closed if heard else opened


def _ending_of_number(text: str) -> str:
    found = re.search(r"[0-9][0-9,]*$", text)
    digits = found[0].replace(",", "") if found else text[-1]
    zeros = len(digits) - len(digits.rstrip("0"))
    if re.search(r"\.[0-9]+$", text) or zeros in (0, len(digits)):
        return DIGITS[int(digits[-1])]
    return "c"  # 십 백 천 만 억


def _ending_of_latin(word: str) -> str:
    if word.isupper():
        return NAMES.get(word[-1].lower(), "")
    low = word.lower()
    if re.search(r"(l|le)$", low):
        return "l"
    if re.search(r"(m|n|ng|me|ne)$|[aeiou](c|ck|k|p|b)$", low):
        return "c"
    return "c" if re.search(r"[aeiou]t$", low) and len(low) <= 4 else ""
