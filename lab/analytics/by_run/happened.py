"""Groups and disks: rows of `group_generations`, `group_members`, `group_epochs`, `stored_offsets` and `storage`,
without the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lab.analytics.by_run.figures import number_of
from lab.analytics.by_run.leaders import place_of
from lab.analytics.by_run.recording import Event, Recording, grouped
from lab.analytics.happenings import CHANGES

Row = dict[str, Any]


# -- groups -----------------------------------------------------------------------------------
def generations(run: Recording) -> list[tuple[Any, ...]]:
    """States that groups entered, each with when the next one was."""
    following: dict[Any, int] = {}
    found = []
    for seq, t_us, node, _, _, p, _ in reversed(run.of("group_state")):
        group = p.get("group")
        found.append((seq, t_us, node, group, p.get("generation"), p.get("before"), p.get("after"), p.get("reason"),
                      following.get(group)))
        following[group] = t_us
    return found[::-1]


_CONVERGING = ("Assigning", "Reconciling")


def rebalance_cost(run: Recording) -> Iterator[Row]:
    """How many rebalances a group had, and how long it was in each state that is not Stable, by both protocols."""
    for group, states in sorted(grouped(generations(run), lambda row: row[3]).items()):
        spent = {after: [until - t_us for _, t_us, _, _, _, _, state, _, until in states
                         if state == after and until is not None]
                 for after in ("PreparingRebalance", "CompletingRebalance", *_CONVERGING)}  # fmt: skip
        joining, assigning, *converging = spent.values()
        moved = [one for some in converging for one in some]
        yield {"run": run.name, "group": group, "generations": max(row[4] for row in states),
               "rebalances": sum(_begins(row[5], row[6]) for row in states), "joining_ms": sum(joining) / 1e3,
               "assigning_ms": sum(assigning) / 1e3, "converging_ms": sum(moved) / 1e3,
               "longest_ms": max([0, *joining, *assigning, *moved]) / 1e3}  # fmt: skip


def _begins(before: str, after: str) -> bool:
    """Whether a change of a group's state is the beginning of a rebalance."""
    return after in ("PreparingRebalance", "Assigning") or (after == "Reconciling" and before in ("Empty", "Stable"))


def epochs(run: Recording) -> Iterator[tuple[Any, ...]]:
    """Steps of members of KIP-848 groups, each with when the next one was."""
    ends: dict[int, int | None] = {}
    following: dict[Any, int | None] = {}
    events = run.of("member_joined", "member_left", "member_reconciled")
    for event in reversed(events):
        member = _member(event)
        ends[event[6]] = following.get(member)
        following[member] = None if event[3] == "member_joined" else event[1]
    clients: dict[Any, str] = {}
    for event in events:
        seq, t_us, node, code, _, p, position = event
        member = _member(event)
        if p.get("client_id") is not None:
            clients[member] = p["client_id"]
        if code == "member_reconciled":
            has = p.get("assigned")
            yield (seq, t_us, node, *member, clients.get(member), p.get("epoch"), p.get("state"),
                   None if has is None else sum(map(len, has.values())), has, p.get("revoking"), ends[position])


def members(run: Recording) -> Iterator[tuple[Any, ...]]:
    """Members of each generation. What is told of a member lies between its generation and the next one."""
    joined, left, taken = (
        grouped(run.of(code), _member) for code in ("member_joined", "member_left", "assignment_taken"))
    assigned = run.of("group_assigned")
    nexts: dict[Any, int] = {}
    ends: list[int | None] = []
    for event in reversed(assigned):
        ends.append(nexts.get(event[5].get("group")))
        nexts[event[5].get("group")] = event[6]
    for (seq, t_us, node, _, _, p, position), end in zip(assigned, reversed(ends)):
        for member, assignment in (p.get("assignment") or {}).items():
            key = p.get("group"), member
            came = [one for one in joined.get(key, ()) if one[6] < position]
            if key in joined and not came:
                continue
            # The one that was told last by the words of the event, as the greatest of structs is.
            join = max(came, key=lambda one: (one[5].get("client_id") or "", one[5].get("instance") or "", one[1]),
                       default=None)
            client = None if join is None else join[5].get("client_id")
            gone = _within(left.get(key, ()), position, end)
            leave = min(gone, key=lambda one: (one[1], one[5].get("reason") or ""), default=None)
            took = _within(taken.get((client, p.get("generation")), ()), position, end) if client is not None else []
            yield (seq, t_us, node, p.get("group"), p.get("generation"), member, client,
                   None if join is None else join[5].get("instance"), sum(map(len, assignment.values())), assignment,
                   None if join is None else join[1], min((one[1] for one in took), default=None),
                   None if leave is None else leave[1], None if leave is None else leave[5].get("reason"))


def _member(event: Event) -> tuple[Any, Any]:
    if event[3] == "assignment_taken":
        return event[2], event[5].get("generation")
    return event[5].get("group"), event[5].get("member")


def _within(events: Any, position: int, end: int | None) -> list[Event]:
    return [one for one in events if one[6] > position and (end is None or one[6] < end)]


def stored_offsets(run: Recording) -> Iterator[tuple[Any, ...]]:
    """Offsets as coordinators stored them."""
    generation: dict[Any, int] = {}
    before: dict[Any, int | None] = {}
    for seq, t_us, node, code, _, p, _ in run.of("offsets_committed", "group_assigned"):
        group = p.get("group")
        if p.get("generation") is not None:
            generation[group] = p["generation"]
        if code == "offsets_committed":
            place = group, p.get("topic"), p.get("partition")
            offset, last = p.get("offset"), before.get(place)
            moved = None if last is None or offset is None else offset - last
            yield seq, t_us, node, *place, offset, moved, generation.get(group)
            before[place] = offset


# -- disks ------------------------------------------------------------------------------------
def storage(run: Recording) -> Iterator[tuple[Any, ...]]:
    """What happened to files. When the power goes, a row for each log says where it ended (`happenings.storage`)."""
    power: dict[str, list[Event]] = {}
    for event in run.of("process_ended"):
        if event[5].get("how") == "power_loss":
            power.setdefault(event[2], []).append(event)
    if not power and not run.of(*CHANGES):
        return
    events = run.of(*CHANGES, "log_appended", "truncated")
    for (node, topic, partition), line in grouped(events, lambda event: (event[2], *_place(event))).items():
        ends: int | None = None
        for event, after in zip(line, [*line[1:], None]):
            if event[3] in CHANGES:
                yield _stored(event, ends)
            ends = _end(event, ends)
            for gone in power.get(node, ()) if ends is not None else ():
                if event[6] < gone[6] and (after is None or gone[6] < after[6]):
                    yield (*gone[:3], topic, partition, "page cache lost", None, None, ends, None, None, None, None,
                           "power loss")


def _place(event: Event) -> tuple[str, int]:
    """As `place_of`."""
    p = event[5]
    return (p.topic, p.partition) if event[3] == "log_appended" else place_of(event)


def _end(event: Event, before: int | None) -> int | None:
    """Where a log ends behind an event, as far as that is known."""
    code, p = event[3], event[5]
    if code == "log_appended":
        return before if p.last_offset is None else int(p.last_offset) + 1
    if code == "truncated":
        return before if p.get("after") is None else int(p["after"])
    return None if code == "log_loaded" else before


def _stored(event: Event, held: int | None) -> tuple[Any, ...]:
    seq, t_us, node, code, _, p, _ = event
    get = p.get
    is_loaded, end = code == "log_loaded", p.get("end")
    before, after = get("bytes_before"), get("bytes_after")
    saved = before - after if before is not None and after is not None else None
    sizes = (get("bytes_cut"), get("bytes"), saved)
    return (
        seq, t_us, node, get("topic"), get("partition"), CHANGES[code],
        get("base_offset") if code in ("segment_rolled", "segment_deleted") else None,
        get("start") if is_loaded else get("offset") if code == "log_start_moved" else None,
        get("offset") if code == "flushed" else end if code in ("log_loaded", "log_recovered", "log_cleaned") else None,
        next((size for size in sizes if size is not None), None), get("clean"),
        max(held - end, 0) if is_loaded and held is not None and end is not None else 0 if is_loaded else None,
        get("file"), get("reason"))  # fmt: skip


def deletions(run: Recording) -> Iterator[tuple[int | None, str, str, int]]:
    """(broker, topic, deleted or compacted, bytes) of what rules took away."""
    for event in run.of("segment_deleted", "log_cleaned"):
        p = event[5]
        if event[3] == "log_cleaned":
            yield number_of(event[2]), p["topic"], "compacted", p["bytes_before"] - p["bytes_after"]
        elif p.get("reason") not in (None, "topic deleted"):
            yield number_of(event[2]), p["topic"], "deleted", p["bytes"]
