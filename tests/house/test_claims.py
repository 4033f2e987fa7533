"""Every sentence under the word Invariants in a docstring is asserted: by a look (`tests/claims`), or by a test that is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.claims import looks_brokers, looks_clients  # noqa: F401  registers the looks
from tests.claims.bullets import LOOKS, bullets, unnamed
from tests.claims.elsewhere import ELSEWHERE
from tests.house.sources import CHECKOUT


def asserted() -> Iterator[tuple[str, str]]:
    yield from ((place, sentence) for looks in LOOKS.values() for place, sentence, _ in looks)
    known = bullets()
    for place, begins in ELSEWHERE:
        yield from ((place, one) for one in known.get(place, [f"{begins}..."]) if one.startswith(begins))


def test_every_sentence_under_the_word_invariants_is_asserted_once_and_none_that_is_gone() -> None:
    said = Counter((place, sentence) for place, sentences in bullets().items() for sentence in sentences)
    assert Counter(asserted()) == said


def test_the_tests_that_assert_a_sentence_elsewhere_are_there() -> None:
    missing = []
    for test in ELSEWHERE.values():
        file, _, function = test.partition("::")
        path = CHECKOUT / file
        if not path.is_file() or f"def {function}(" not in path.read_text():
            missing.append(test)
    assert not missing, "\n".join(missing)


def test_a_bullet_of_a_class_explains_a_name_or_stands_under_the_word() -> None:
    assert not unnamed(), "\n".join(unnamed())
