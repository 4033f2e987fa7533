"""How many records each course of each lesson loses, duplicates and reorders: thought out by hand, for any seed.

The figures follow from the rates and times of the file:
a producer of 500 records/s whose leader dies 100 ms ahead of its followers loses about 50.
"""

from __future__ import annotations

NONE = (0, 0)
SOME = (1, 200)
CLEAN = (NONE, NONE, NONE)


def clean(name: str, *courses: str | None) -> dict[tuple[str, str | None], tuple[tuple[int, int], ...]]:
    """Courses of one lesson in which nothing is lost, duplicated or reordered."""
    return {(name, one): CLEAN for one in courses}


# (scenario, variant): (lost, duplicated, reordered), each from - to
EXPECTED: dict[tuple[str, str | None], tuple[tuple[int, int], ...]] = {
    # 500 records/s, up to 200 ms behind: a fetch there and its answer back
    ("acks-0", None): ((1, 120), NONE, NONE),
    ("acks-0", "fork"): CLEAN,
    ("acks-1", None): ((1, 120), NONE, NONE),
    ("acks-1", "fork"): CLEAN,
    ("acks-all", None): CLEAN,
    ("acks-all", "fork"): ((1, 120), NONE, NONE),
    # held back for 2 s at 100 records/s, then the leader dies with them
    ("consumer-sees-only-below-hw", None): CLEAN,
    ("consumer-sees-only-below-hw", "fork"): ((180, 230), NONE, NONE),
    # what was acknowledged while the ISR was the leader alone: 4 s of backlog and 2 s more, at 100/s
    ("acks-all-is-not-all-replicas", None): ((550, 650), NONE, NONE),
    **clean("acks-all-is-not-all-replicas", "fork", "two"),
    ("acks-all-is-not-all-replicas", "two/fork"): ((500, 600), NONE, NONE),
    **clean("how-long-until-it-is-dead", None, "fork", "eighteen", "eighteen/fork", "sixty"),
    **clean("id-still-in-the-list", None, "fork", "blank", "blank/fork"),
    **clean("duplicate-broker-id", None, "fork"),
    **clean("nobody-chose-an-id", None, "fork"),
    **clean("a-fourth-controller", None, "fork"),
    **clean("two-truths", None, "fork"),
    # 150 of acks=1 in any case, and without the protection what acks=all had waited with for 3 s, at 50/s
    ("a-diverging-fetch-counts", None): ((250, 340), NONE, NONE),
    ("a-diverging-fetch-counts", "fork"): ((140, 160), NONE, NONE),
    ("a-diverging-fetch-counts", "protected"): ((140, 160), NONE, NONE),
    ("a-diverging-fetch-counts", "protected/fork"): ((250, 340), NONE, NONE),
    # what the follower confirmed from the second election to the late news: 1.5 s, and 0.5 s of backlog, at 100/s
    ("a-fetch-of-an-old-epoch", None): ((150, 230), NONE, NONE),
    **clean("a-fetch-of-an-old-epoch", "fork", "protected"),
    ("a-fetch-of-an-old-epoch", "protected/fork"): ((150, 230), NONE, NONE),
    # 150 of acks=1 are cut; without the protection a reader has them first, with what producer-all had on its way,
    # which does not bring them back
    ("a-watermark-before-the-cut", None): ((140, 160), (0, 10), NONE),
    ("a-watermark-before-the-cut", "fork"): ((140, 160), NONE, NONE),
    ("a-watermark-before-the-cut", "protected"): ((140, 160), NONE, NONE),
    ("a-watermark-before-the-cut", "protected/fork"): ((140, 160), (0, 10), NONE),
    # one batch
    ("in-sync-too-soon", None): ((60, 60), NONE, NONE),
    **clean("in-sync-too-soon", "fork", "protected"),
    ("in-sync-too-soon", "protected/fork"): ((60, 60), NONE, NONE),
    # while broker 3 was dead records waited at broker 2, a session long at least; and one second more, at 100/s
    ("a-leader-that-missed-the-news", None): ((350, 550), NONE, NONE),
    **clean("a-leader-that-missed-the-news", "fork", "protected"),
    ("a-leader-that-missed-the-news", "protected/fork"): ((350, 550), NONE, NONE),
    # from the flush at the end of broker 4 to its power loss: 1.5 s, at 100/s
    ("a-fetch-of-a-former-life", None): ((140, 170), NONE, NONE),
    **clean("a-fetch-of-a-former-life", "fork", "protected"),
    ("a-fetch-of-a-former-life", "protected/fork"): ((140, 170), NONE, NONE),
    # what finds no leader waits at the producer, and is written when the broker is back
    **clean("replication-factor", None, "fork", "min2", "min2/fork"),
    **clean("a-broker-comes-back", None, "fork", "auto", "auto/fork"),
    **clean("two-ways-out-of-the-isr", None, "fork", "thirty", "thirty/fork"),
    **clean("slow-disk", None, "fork", "leader", "leader/fork"),
    **clean("controller-dies", None, "fork", "leader", "leader/fork"),
    # half a second behind, at 50 records/s with acks=1, and one more way
    ("same-leader-new-epoch", None): ((15, 80), NONE, NONE),
    ("same-leader-new-epoch", "fork"): ((15, 80), NONE, NONE),
    ("same-leader-new-epoch", "protected"): ((15, 80), NONE, NONE),
    ("same-leader-new-epoch", "protected/fork"): ((15, 80), NONE, NONE),
    **clean("an-epoch-without-records", None, "fork", "protected", "protected/fork"),
    # v31 and v32, in any case
    ("leaders-by-turns", None): ((2, 2), NONE, NONE),
    ("leaders-by-turns", "fork"): ((2, 2), NONE, NONE),
    ("leaders-by-turns", "protected"): ((2, 2), NONE, NONE),
    ("leaders-by-turns", "protected/fork"): ((2, 2), NONE, NONE),
    # what broker 3 wrote as a leader: 50 records/s for the session of broker 2's successor and two seconds more
    ("one-offset-two-values", None): ((150, 320), NONE, NONE),
    ("one-offset-two-values", "fork"): ((150, 320), NONE, NONE),
    ("one-offset-two-values", "protected"): ((150, 320), NONE, NONE),
    ("one-offset-two-values", "protected/fork"): ((150, 320), NONE, NONE),
    # two seconds of 50 records/s with acks=1 in any case, and without the maximal ISR 100 records/s with acks=all
    ("acked-by-the-old-isr", None): ((200, 400), NONE, NONE),
    ("acked-by-the-old-isr", "fork"): ((50, 150), NONE, NONE),
    ("acked-by-the-old-isr", "protected"): ((50, 150), NONE, NONE),
    ("acked-by-the-old-isr", "protected/fork"): ((200, 400), NONE, NONE),
    **clean("anatomy-of-a-failover", None, "fork"),
    **clean("failover-with-1000-partitions", None, "fork", "ten", "ten_thousand"),
    **clean("gone-but-registered", None, "fork"),
    **clean("lose-a-voter", None, "fork"),
    # 100 records/s with acks=1 for the three seconds in which two brokers believe that they lead
    ("fenced-broker", None): ((250, 420), NONE, NONE),
    ("fenced-broker", "fork"): CLEAN,
    **clean("group-rebalance", None, "fork"),
    **clean("isr-shrink-and-catch-up", None, "fork"),
    # what the slow follower has, but has not heard to be committed: two round trips of 400 ms at most, 100/s
    ("leader-epoch-truncation", None): ((10, 100), NONE, NONE),
    **clean("leader-epoch-truncation", "fork", "protected"),
    ("leader-epoch-truncation", "protected/fork"): ((10, 100), NONE, NONE),
    **clean("min-isr-blocks-writes", None, "fork", "one", "one/fork"),
    # 3 s at 100/s were never flushed; in the fork of the careful setting the last second
    ("power-loss", None): ((270, 330), NONE, NONE),
    **clean("power-loss", "fork", "flushed"),
    ("power-loss", "flushed/fork"): ((80, 120), NONE, NONE),
    # of five refused requests with 4 records each four are overtaken; what the old leader had written already is there twice
    ("reordering", None): (NONE, (0, 20), (4, 40)),
    ("reordering", "fork"): (NONE, (0, 20), NONE),
    ("reordering", "one"): (NONE, (0, 20), NONE),
    ("reordering", "one/fork"): (NONE, (0, 20), (4, 40)),
    ("reordering", "idempotent"): CLEAN,
    ("reordering", "idempotent/fork"): (NONE, (0, 20), (4, 40)),
    # what was in flight when the answers stopped is there twice
    ("retry-duplicates", None): (NONE, SOME, NONE),
    **clean("retry-duplicates", "fork", "idempotent"),
    ("retry-duplicates", "idempotent/fork"): (NONE, SOME, NONE),
    **clean("lose-a-zookeeper-server", None, "fork", "follower"),
    **clean("lose-the-ensemble", None, "fork", "five"),
    **clean("three-teams-one-ensemble", None, "fork"),
    **clean("lose-the-majority", None, "fork", "one", "one/fork"),
    # the 4 s at 100/s before broker 2 was alone lie on no disk but that of the other, which was killed and does not count
    **clean("elr-last-replica-standing", None, "fork"),
    ("elr-last-replica-standing", "killed"): ((375, 425), NONE, NONE),
    ("elr-last-replica-standing", "killed/fork"): ((375, 425), NONE, NONE),
    ("elr-last-replica-standing", "without"): ((375, 425), NONE, NONE),
    ("elr-last-replica-standing", "without/fork"): ((375, 425), NONE, NONE),
    **clean("session-expiry", None, "fork", "long", "long/fork"),
    # only the hasty one loses: 100 records/s, 100 ms behind
    ("two-promises", None): ((5, 60), NONE, NONE),
    ("two-promises", "fork"): CLEAN,
    # from the death of the follower at 2 s until the leader dies: its session (3 s), and 2.8 s more, at 100/s
    ("unclean-election", None): ((350, 700), NONE, NONE),
    **clean("unclean-election", "fork", "clean"),
    ("unclean-election", "clean/fork"): ((350, 700), NONE, NONE),
    **clean("growing-breaks-keys", None, "fork"),
    # what cannot be written to while a rack is dark waits, and is written when it is back
    **clean("rack-loss", None, "fork", "blind", "blind/fork"),
    # what retention deletes has been read before
    **clean("retention-spares-the-active-segment", None, "fork", "small", "small/fork"),
    **clean("reassignment", None, "fork"),
    **clean("a-move-under-a-throttle", None, "fork", "throttled", "throttled/fork", "low", "low/fork"),
    **clean("stale-metadata", None, "fork"),
    **clean("fetch-sessions", None, "fork", "none", "none/fork"),
    **clean("follower-fetching", None, "fork", "leader", "leader/fork"),
    **clean("first-come-first-served", None, "fork"),
    **clean("min-bytes-max-wait", None, "fork", "some", "some/fork", "one", "one/fork"),
    **clean("predict-the-placement", None, "fork", "six", "six/fork"),
    **clean("request-queue-full", None, "fork", "default", "default/fork"),
    **clean("two-changes-one-watch", None, "fork"),
    **clean("waiting-in-purgatory", None, "fork", "one", "one/fork"),
    **clean("three-files", None, "fork"),
    # the copy on the replaced disk was not the only one; with a wrong base offset one value was read at two offsets
    **clean("bit-flip", None, "fork"),
    ("bit-flip", "offset"): (NONE, (1, 1), NONE),
    ("bit-flip", "offset/fork"): CLEAN,
    # what a rule deletes before it is read is not lost
    **clean("retention-deletes-unread-data", None, "fork", "unlimited", "unlimited/fork"),
    **clean("index-lost", None, "torn"),
    # a record whose only good copies do not lead is at risk
    **clean("index-lost", "fork", "torn/fork"),
    **clean("compaction", None, "fork", "nine-tenths", "nine-tenths/fork"),
    **clean("compress-where-it-pays", None, "fork", "client", "client/fork", "differ", "differ/fork", "neither", "neither/fork"),
    # what groups process twice or never is counted by `group.*`: every record can be read
    **clean("commit-order", None, "fork", "before", "before/fork"),
    **clean("poll-or-be-expelled", None, "fork", "ten", "ten/fork"),
    **clean("kill-the-coordinator", None, "fork"),
    **clean("offset-reset", None, "earliest", "none", "none/fork"),
    **clean("start-again-at-nine", None, "fork", "beginning", "beginning/fork", "end", "end/fork"),
    **clean("cooperative-rebalancing", None, "fork", "cooperative", "cooperative/fork"),
    **clean("two-rebalances", None, "fork", "consumer", "consumer/fork", "classic-30", "classic-30/fork", "consumer-30", "consumer-30/fork"),
    **clean("rolling-move", None, "fork", "refused", "refused/fork"),
    **clean("pattern-meets-a-new-topic", None, "fork", "names", "names/fork"),
    **clean("more-consumers-than-partitions", None, "fork"),
    **clean("static-membership", None, "fork", "static", "static/fork"),
    **clean("key-skew", None, "fork", "alike", "alike/fork"),
    # retention by size takes what the reader had not come to while it was away
    **clean("offset-reset", "fork", "earliest/fork"),
    **clean("zombie-controller-fenced", None, "fork"),
    **clean("zombie-producer-fenced", None, "fork"),
    **clean("read-committed-waits", None, "fork"),
    **clean("commit-without-coordinator", None, "fork"),
    **clean("hanging-transaction", None, "fork"),
    **clean("late-end-of-transaction", None, "fork", "version_1", "version_1/fork"),
    # what is processed again is another record, with a number of its own
    **clean("exactly-once", None, "fork"),
    **clean("rebalance-storm", None, "fork", "small", "small/fork", "patient", "patient/fork", "named", "named/fork"),
    # what followers had not fetched for up to 0.3 s, at 160/s: of three clients, with the fork of two; a moved leader may change an order
    ("same-job-four-clients", None): ((20, 170), NONE, (0, 6)),
    ("same-job-four-clients", "fork"): ((10, 120), NONE, (0, 6)),
    ("same-job-four-clients", "keys"): ((20, 170), NONE, (0, 6)),
    ("same-job-four-clients", "keys/fork"): ((10, 120), NONE, (0, 6)),
    **clean("poison-batch", None, "fork"),
    **clean("queue-many-workers", None, "fork"),
    **clean("queue-poison-record", None, "fork"),
    **clean("queue-lock-runs-out", None, "fork"),
    **clean("two-guarantees", None, "fork", "exactly", "exactly/fork"),
    **clean("reading-deletes-nothing", None, "same", "fork", "same/fork"),
    **clean("a-record-without-a-key", None, "fork"),
    **clean("tombstones-live-and-die", None, "long", "fork", "long/fork"),
    **clean("not-before-not-after", None, "not-before", "not-after", "fork", "not-before/fork", "not-after/fork"),
    **clean("a-directory-dies", None, "fork"),
    **clean("with-and-without-a-key", None, "key", "turn", "fork", "key/fork", "turn/fork"),
    **clean("names-that-collide", None, "fork"),
    **clean("a-lost-commit-answer", None, "request", "fork", "request/fork"),
    ("questions-at-the-door", None): CLEAN,
    # acks=0: one went to a broker that does not lead, one was damaged, and both count as sent
    ("questions-at-the-door", "fork"): ((2, 2), NONE, NONE),
    **clean("header-and-negotiation", None, "fork"),
    **clean("a-terabyte-a-day", None, "fork"),
    **clean("zero-copy-and-how-to-lose-it", None, "new", "fork", "new/fork"),
    **clean("one-wrapper-many-messages", None, "magic_0", "magic_2", "three_formats", "fork", "magic_0/fork", "magic_2/fork"),
    **clean("the-clients-ceiling", None, "narrow", "all_together", "fork", "narrow/fork", "all_together/fork"),
    **clean("the-map-is-too-small", None, "large", "fork", "large/fork"),
    **clean("the-full-disk-next-to-the-empty-one", None, "fork"),
}
