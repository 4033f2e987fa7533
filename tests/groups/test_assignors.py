"""The assignors of the coordinator, against what they promise."""

from __future__ import annotations

import random
import uuid

import pytest

from broker_core.groups.consumer.assignors import ASSIGNORS, Topics, Wish, in_range, offered, uniform

T, U = uuid.UUID(int=1), uuid.UUID(int=2)
BOTH = frozenset((T, U))


def _random_world(chance: random.Random) -> tuple[dict[str, Wish], dict[uuid.UUID, int]]:
    """Members with an old target in which a partition has one owner, but which may name topics that are gone."""
    topics = {uuid.UUID(int=number + 1): chance.randint(1, 7) for number in range(chance.randint(1, 4))}
    gone = uuid.UUID(int=99)
    alike = chance.random() < 0.5
    everybody = frozenset(chance.sample(sorted(topics), chance.randint(1, len(topics))))
    wishes, free = {}, [(topic, number) for topic in [*topics, gone] for number in range(8)]
    chance.shuffle(free)
    for number in range(chance.randint(1, 6)):
        wanted = everybody if alike else frozenset(chance.sample(sorted(topics), chance.randint(0, len(topics))))
        old = frozenset(free.pop() for _ in range(chance.randint(0, min(5, len(free)))))
        wishes[f"m{number}"] = Wish(wanted, old, chance.choice((None, f"i{9 - number}")))
    return wishes, topics


def _wanted(wishes: dict[str, Wish], topics: Topics) -> set[tuple[uuid.UUID, int]]:
    return {(topic, one) for topic, count in topics.items() for one in range(count)
            if any(topic in wish.topics for wish in wishes.values())}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
@pytest.mark.parametrize("seed", range(300))
def test_each_wanted_partition_has_one_owner_that_wants_it_and_nobody_could_have_a_fairer_share(name: str, seed: int) -> None:
    wishes, topics = _random_world(random.Random(seed))
    found = ASSIGNORS[name](wishes, topics)
    given = [one for target in found.values() for one in target]
    assert found.keys() == wishes.keys() and len(given) == len(set(given)) and set(given) == _wanted(wishes, topics)
    assert all(topic in wishes[member].topics for member, target in found.items() for topic, _ in target)
    for owner, target in found.items():
        for topic in {topic for topic, _ in target}:
            mine = len(target) if name == "uniform" else sum(one[0] == topic for one in target)
            for other in (one for one, wish in wishes.items() if topic in wish.topics):
                theirs = len(found[other]) if name == "uniform" else sum(one[0] == topic for one in found[other])
                assert mine - theirs < 2, f"{owner} has {mine}, {other} {theirs} of {topic}"
    again = ASSIGNORS[name]({one: wish._replace(target=found[one]) for one, wish in wishes.items()}, topics)
    assert again == found, "what is balanced stays"


@pytest.mark.parametrize("seed", range(200))
def test_uniform_moves_no_more_than_balance_asks_for(seed: int) -> None:
    """Who has too many loses just that; the least that has to move is what is over the quotas."""
    chance = random.Random(seed)
    topics = {T: chance.randint(1, 20), U: chance.randint(1, 20)}
    old = uniform({f"m{one}": Wish(BOTH, frozenset()) for one in range(chance.randint(1, 6))}, topics)
    left = {one: target for one, target in old.items() if chance.random() < 0.7}
    new = {f"n{one}": frozenset() for one in range(chance.randint(0, 3))}
    wishes = {one: Wish(BOTH, frozenset(target)) for one, target in {**left, **new}.items()}
    if not wishes:
        return
    found = uniform(wishes, topics)
    least, more = divmod(sum(topics.values()), len(wishes))
    had = sorted((len(wish.target) for wish in wishes.values()), reverse=True)
    may_stay = sum(min(count, least + (position < more)) for position, count in enumerate(had))
    assert sum(len(found[one] & wish.target) for one, wish in wishes.items()) == may_stay


def test_range_cuts_topics_of_one_size_alike_and_instances_come_first() -> None:
    wishes = {"a": Wish(BOTH, frozenset()), "z": Wish(BOTH, frozenset(), "i"), "b": Wish(frozenset((U,)), frozenset())}
    assert in_range(wishes, {T: 3, U: 3}) == {"z": {(T, 0), (T, 1), (U, 0)}, "a": {(T, 2), (U, 1)}, "b": {(U, 2)}}


def test_the_setting_names_them_by_name_or_by_kafkas_class() -> None:
    assert offered("range,uniform") == ["range", "uniform"]
    assert offered(["org.apache.kafka.coordinator.group.assignor.UniformAssignor"]) == ["uniform"]
    assert offered("my.own.Assignor") == ["uniform"]
