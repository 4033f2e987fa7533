"""The picture of each term: what one would draw on a napkin while saying its sentence.

Cells, rows and signs are those of the stage.
"""

from __future__ import annotations

from lab.glossary.drawing import (
    Marks, arrow, cells, client, clock, cross, crown, disc, edge, page, path, rect, replica, server, sheet, text,
        tick,
)  # fmt: skip

_CLUSTER = {
    "cluster": sheet(
        rect(8, 6, 184, 76, "soft dash", 12), server(26, 18, 1), server(78, 18, 2), server(130, 18, 3),
        path("M48 44v16h104v-16M100 44v16", "soft"), text(100, 76, "3")),
    "broker": sheet(
        client(4, 33, "P", 34), arrow(40, 44, 66, 44), rect(70, 14, 60, 60), rect(70, 14, 6, 60, "b1", 1),
        cells(82, 24, "ccc"), cells(82, 44, "cc"), arrow(133, 44, 158, 44), client(162, 33, "C", 34)),
    "record": sheet(
        rect(34, 22, 132, 44, "line", 6), path("M78 22v44M134 22v44", "soft"), text(56, 48, "K", "big"),
        text(106, 48, "{ … }", "big"), clock(150, 44, 9)),
    "key": sheet(
        cells(6, 14, "A"), cells(6, 37, "B", 2), cells(6, 60, "A"), arrow(24, 21, 92, 24), arrow(24, 44, 92, 61),
        arrow(24, 67, 92, 29), cells(100, 17, "AAA"), cells(100, 55, "BB", 2), text(186, 28, "0"), text(186, 66,
        "1")),
    "topic": sheet(
        rect(20, 6, 160, 76, "soft dash", 8), [(text(34, 25 + 22 * row, str(row)), cells(46, 14 + 22 * row,
        "c" * (7 - row)))
                                            for row in range(3)]),
    "partition": sheet(
        text(34, 25, "0", "softly"), cells(46, 14, "uuuuu"), rect(28, 32, 146, 24, "accent"), text(38, 48, "1"),
        cells(50, 37, "cccccc"), text(34, 73, "2", "softly"), cells(46, 62, "uuuu")),
    "offset": sheet(cells(20, 30, "0123456"), cells(132, 30, "789"), arrow(27, 68, 27, 48), arrow(184, 68, 184, 48,
        "soft dash")),
    "producer": sheet(
        client(8, 33, "P", 46), cells(66, 37, "ccc"), arrow(116, 44, 138, 44), server(144, 31, 1)),
    "consumer": sheet(
        cells(6, 37, "cccccc"), edge(6, 37, 4), arrow(104, 44, 136, 44), client(142, 33, "C", 46), arrow(69, 66, 69,
        56, "accent")),
    "replica": sheet(replica(8, 1, "ccccccc", True), replica(36, 2, "ccccccc"), replica(64, 3, "ccccccc")),
    "replication-factor": sheet(
        server(18, 8, 1), server(78, 8, 2), server(138, 8, 3), [cells(33 + 60 * one, 42, "c",
        one + 1) for one in range(3)],
        text(100, 78, "× 3", "big")),
    "assignment": sheet(
        [(rect(50 + 36 * at, 24, 28, 30, "accent" if at == 0 else "box"), text(64 + 36 * at, 44, broker, "big"),
        text(64 + 36 * at, 18, f"{at + 1}.")) for at, broker in enumerate("231")],
        text(64, 74, "★", "big")),
    "reassignment": sheet(
        server(10, 10, 1, dead=True), server(10, 52, 2), server(146, 10, 4), cells(64, 16, "ccc", 1),
        arrow(114, 23, 140, 23), arrow(58, 58, 140, 32, "soft dash")),
    "rack": sheet(
        rect(22, 4, 64, 80, "line"), server(32, 12, 1), server(32, 48, 2), rect(114, 4, 64, 80, "line"), server(124,
        12, 3),
        server(124, 48, 4)),
    "metadata": sheet(
        client(4, 33, "C", 36), rect(56, 12, 56, 64, "line"), text(84, 31, "0 → 1"), text(84, 49, "1 → 3"), text(84,
        67, "2 → 2"),
        arrow(146, 44, 118, 44), server(150, 31, 1)),
}  # fmt: skip

_COPIES = {
    "leader": sheet(client(2, 33, "P", 32), arrow(37, 44, 62, 44), rect(68, 22, 70, 44, "accent"), text(82, 51, "★",
        "big"),
                    cells(94, 37, "cc"), arrow(168, 20, 143, 34, "soft dash"), arrow(168, 68, 143, 54, "soft dash"),
        text(182, 24, "2"), text(182, 72, "3")),
    "follower": sheet(replica(14, 1, "cccccu", True), arrow(150, 60, 150, 34, "soft dash"), arrow(164, 34, 164, 60),
                      replica(60, 2, "ccccc")),
    "isr": sheet(rect(4, 2, 140, 56, "accent", 6), text(170, 34, "ISR", "big"), replica(10, 1, "ccccc", True),
                 replica(36, 2, "ccccc"), replica(68, 3, "cc")),
    "high-watermark": sheet(text(104, 12, "HW"), path("M103 16v70", "line bold"), replica(18, 1, "ccccuuu", True),
        replica(42, 2, "ccccu"), replica(66, 3, "cccc")),
    "committed": sheet(replica(8, 1, "cccuu", True), replica(36, 2, "cccu"), replica(64, 3, "ccc"), rect(70, 3, 18,
        80, "good"),
                       tick(160, 44, 8)),
    "acks": sheet(text(30, 22, "0"), text(30, 48, "1"), text(30, 74, "all"), path("M60 18h16", "soft dash"), cells(60,
        37, "c"),
                  cells(60, 63, "c"), cells(80, 63, "c", 2), cells(100, 63, "c", 3), tick(150, 18, 4), tick(150, 44,
        4), tick(150, 70, 4)),
    "acknowledgement": sheet(client(6, 33, "P", 44), server(148, 31, 1), arrow(54, 36, 142, 36), arrow(142, 54, 54,
        54, "good"), tick(98, 68, 6), cells(90, 16, "c")),
    "min-isr": sheet(client(2, 33, "P", 32), arrow(36, 44, 66, 44), cross(76, 44, 7), rect(92, 6, 100, 76,
        "soft dash"),
                     server(96, 31, 1, width=28), server(128, 31, 2, dead=True, width=28), server(160, 31, 3,
        dead=True, width=28), text(142, 76, "1 < 2")),
    "under-replicated": sheet(replica(8, 1, "ccccc", True), replica(36, 2, "ccccc"), text(27, 75, "3"), rect(38, 62,
        80, 18, "bad dash"), cross(78, 71)),
    "election": sheet(server(14, 31, 1, dead=True), text(36, 22, "★", "softly big"), arrow(62, 44, 86, 44, "accent"),
        server(92, 31, 2),
                      text(114, 22, "★", "big"), server(148, 31, 3)),
    "unclean-election": sheet(replica(12, 1, "ccccccc"), cross(27, 18, 8), replica(54, 3, "cccxxxx", True), arrow(172,
        24, 172, 52, "bad")),
    "preferred-leader": sheet([(rect(10 + 32 * at, 30, 26, 30, "accent" if at == 0 else "box"), text(23 + 32 * at, 50,
        broker, "big")) for at, broker in enumerate("123")],
                              arrow(108, 45, 136, 45), text(166, 26, "★", "big"), server(144, 32, 1)),
    "offline": sheet(server(14, 14, 1, dead=True), server(78, 14, 2, dead=True), server(142, 14, 3, dead=True),
        client(80, 58, "P"), arrow(100, 56, 100, 43, "bad")),
    "leader-epoch": sheet(cells(16, 40, "cccc"), cells(80, 40, "ccc", 2), cells(128, 40, "ccc", 3), edge(16, 40, 4),
        edge(16, 40, 7),
                          text(46, 28, "4"), text(103, 28, "5"), text(150, 28, "6"), arrow(20, 70, 176, 70, "soft")),
    "truncation": sheet(replica(12, 2, "ccccc", True), replica(54, 1, "cccccxx"), edge(40, 54, 5)),
}  # fmt: skip

_LOG = {
    "log": sheet(cells(12, 37, "cccccccc"), path("M142 37h14v14h-14z", "accent dash"), arrow(192, 44, 164, 44,
        "accent")),
    "log-end": sheet(cells(20, 34, "cccccuu"), edge(20, 34, 5, "HW"), edge(20, 34, 7, "LEO")),
    "log-start": sheet(cells(20, 34, "dddccccc"), edge(20, 34, 3)),
    "segment": sheet(rect(8, 22, 56, 44), cells(13, 37, "ccc"), rect(72, 22, 56, 44), cells(77, 37, "ccc"), rect(136,
        22, 56, 44, "accent"),
                     cells(141, 37, "cc"), arrow(182, 14, 182, 34, "accent")),
    "index": sheet(rect(6, 12, 50, 64, "line"), text(31, 31, "0 → 0"), text(31, 49, "4 → 96"), text(31, 67, "8 → …"),
        path("M60 46h79v-10", "accent"),
                   cells(68, 18, "01234567"), rect(130, 16, 18, 18, "accent")),
    "batch": sheet(rect(40, 22, 120, 44, "line", 6), path("M64 22v44", "soft"), text(52, 48, "≡", "big"), cells(72,
        37, "ccccc")),
    "checksum": sheet(text(60, 36, "1 0 1 1", "big"), text(60, 66, "1 0 0 1", "big"), rect(60, 52, 14, 18, "bad"),
        text(136, 36, "3f1c"),
                      text(136, 66, "9a02"), tick(176, 30, 5), cross(176, 61, 5)),
    "damaged-record": sheet(replica(8, 1, "ccccccc", True), replica(36, 2, "ccccccc"), replica(64, 3, "ccccccc"),
        path("M101 4l-8 11h8l-8 11", "bad bold")),
    "compression": sheet(cells(12, 37, "ccccc"), arrow(98, 44, 124, 44), rect(132, 32, 28, 24, "line"), cells(139, 37,
        "c"), text(176, 50, "⅓", "big")),
    "retention": sheet(rect(8, 24, 52, 42, "soft dash"), cells(12, 38, "ddd"), rect(72, 24, 52, 42), cells(76, 38,
        "ccc"), rect(134, 24, 52, 42),
                       cells(138, 38, "ccc"), clock(34, 12, 9)),
    "compaction": sheet(cells(36, 12, "ABACBA"), cells(36, 58, "...CBA"), arrow(100, 32, 100, 52)),
    "tombstone": sheet(path("M72 74V38a28 26 0 0 1 56 0v36z", "line"), text(100, 46, "K", "big"), text(100, 64, "∅",
        "big"), path("M52 74h96", "soft")),
    "log-directory": sheet(server(4, 8, 2), path("M26 38v12h82M26 50v22h82", "soft"),
        path("M112 32a34 7 0 0 1 68 0v16a34 7 0 0 1 -68 0zM112 32a34 7 0 0 0 68 0", "line"), cells(118, 40, "cc"),
        cells(150, 40, "cc", 1),
        path("M112 66a34 7 0 0 1 68 0v12a34 7 0 0 1 -68 0z", "bad dash"), cross(146, 72, 5)),
    "page-cache": sheet(rect(24, 8, 152, 28, "line dash"), cells(60, 15, "uuuuu"), rect(24, 52, 152, 28, "line"),
        cells(60, 59, "ccc"), arrow(44, 30, 44, 58, "soft")),
    "flush": sheet(cells(60, 8, "ccccc"), arrow(100, 26, 100, 48),
        path("M60 56a40 9 0 0 1 80 0v16a40 9 0 0 1 -80 0zM60 56a40 9 0 0 0 80 0", "line"), tick(164, 62, 6)),
}  # fmt: skip

_DECIDING = {
    "controller": sheet(server(78, 8, 1), crown(100, 46), arrow(84, 54, 46, 64), arrow(116, 54, 154, 64), server(4,
        58, 2), server(152, 58, 3)),
    "controller-epoch": sheet(crown(40, 40), text(40, 66, "6", "softly big"), arrow(62, 44, 90, 44), crown(112, 40),
        text(112, 66, "7", "big"), text(160, 54, "7 > 6", "big")),
    "fencing": sheet(crown(30, 34), text(30, 62, "6", "softly big"), arrow(50, 44, 92, 44, "bad"),
        path("M104 12v64M116 12v64M98 28h24M98 60h24", "line"), server(146, 31, 2)),
    "zookeeper": sheet(disc(100, 16, 8), disc(50, 48, 8), disc(100, 48, 8), disc(150, 48, 8),
        path("M94 22L56 42M100 24v16M106 22l38 20", "soft"),
                       crown(150, 74), text(50, 76, "1 2 3"), text(100, 76, "ISR")),
    "ensemble": sheet([rect(14 + 64 * one, 30, 44, 30, "accent" if one == 1 else "box") for one in range(3)],
        crown(100, 16), [disc(36 + 64 * one, 45, 7) for one in range(3)], arrow(76, 45, 62, 45),
        arrow(124, 45, 138, 45),
        [tick(34 + 64 * one, 76, 5) for one in range(2)]),
    "znode": sheet(disc(100, 16, 9), disc(52, 58, 9), disc(148, 58, 9, "line dash"), path("M94 23L58 51M106 23l36 28",
        "soft"), text(52, 62, "1"), cross(148, 58, 6)),
    "watch": sheet(disc(44, 44, 10), path("M84 44q22 -22 44 0q-22 22 -44 0z", "line"), disc(106, 44, 6, "inkly"),
        arrow(80, 44, 58, 44, "soft dash"),
                   arrow(134, 44, 158, 44, "accent"), text(178, 49, "1×", "big")),
    "session": sheet(path("M10 48h24l5 -18l7 30l6 -12h20l5 -18l7 30l6 -12h16", "good"), path("M106 48h56",
        "soft dash"), clock(134, 26, 10), cross(178, 48, 7)),
    "quorum": sheet([disc(28 + 36 * one, 44, 13, "good" if one < 3 else "soft") for one in range(5)],
        [tick(26 + 36 * one, 43, 5) for one in range(3)],
                    text(100, 82, "3 / 5")),
    "kraft": sheet(crown(36, 14), server(14, 26, 1), server(14 + 64, 26, 2), server(142, 26, 3), [cells(14 + 64 * one,
        62, "ccc", one + 1) for one in range(3)]),
}  # fmt: skip

_REQUESTS = {
    "fetch": sheet(client(6, 33, "C", 44), server(148, 31, 1), arrow(54, 36, 142, 36), text(98, 28, "≥ 42"),
        arrow(142, 54, 54, 54, "soft"), cells(76, 60, "ccc")),
    "purgatory": sheet(path("M14 62h172M22 62v14M178 62v14", "line"), rect(34, 38, 34, 20), rect(84, 38, 34, 20),
        rect(134, 38, 34, 20), clock(51, 22, 9), clock(101, 22, 9), clock(151, 22, 9)),
    "request-queue": sheet([rect(14 + 24 * one, 32, 20, 24) for one in range(5)], arrow(136, 44, 154, 44), disc(174,
        44, 12, "line"), text(174, 49, "⚙", "big")),
    "network-thread": sheet(client(4, 10, "C", 34), client(4, 56, "C", 34), arrow(40, 21, 74, 38), arrow(74, 50, 40,
        67), disc(90, 44, 13, "accent"), text(90, 49, "⇄", "big"),
                            arrow(106, 44, 128, 44), rect(134, 32, 16, 24), rect(154, 32, 16, 24), rect(174, 32, 16,
        24)),
    "handler-thread": sheet(rect(10, 32, 20, 24), rect(34, 32, 20, 24), arrow(58, 44, 82, 44), disc(100, 44, 14,
        "accent"), text(100, 50, "⚙", "big"), arrow(116, 44, 136, 44),
                            path("M142 34a22 7 0 0 1 44 0v22a22 7 0 0 1 -44 0zM142 34a22 7 0 0 0 44 0", "line")),
    "fetch-session": sheet(client(4, 33, "C", 36), arrow(44, 44, 112, 44), text(77, 36, "4"), rect(118, 4, 76, 80),
        rect(118, 4, 6, 80, "b1", 1),
                           rect(132, 14, 54, 60, "line"), text(159, 32, "0 1 2 3"), text(159, 50, "4 5 6 7"),
        text(159, 68, "8 9 …"), rect(137, 39, 13, 15, "accent")),
    "follower-fetching": sheet(rect(4, 6, 84, 76, "soft dash", 8), rect(112, 6, 84, 76, "soft dash", 8), text(132, 26,
        "★", "big"), server(140, 31, 1), server(36, 12, 2), client(38, 56, "C"), arrow(58, 40, 58, 54),
        path("M80 66h40l14 -6", "soft dash")),
    "in-flight": sheet(client(4, 33, "P", 34), server(152, 31, 1), [rect(46 + 22 * one, 34, 16, 20,
        "line") for one in range(4)], arrow(136, 44, 148, 44), text(86, 76, "4")),
    "retry": sheet(client(4, 33, "P", 36), server(150, 31, 1), arrow(44, 28, 144, 36), arrow(144, 46, 100, 46,
        "soft dash"), cross(90, 46, 6), arrow(44, 64, 144, 54, "accent"), cells(146, 64, "22")),
    "idempotence": sheet(client(4, 33, "P", 36), arrow(44, 30, 120, 30), text(82, 24, "7"), arrow(44, 58, 120, 58,
        "soft"), text(82, 74, "7"), cells(130, 23, "567"), cross(134, 58, 6)),
    "sequence": sheet(cells(34, 30, "4567"), cells(114, 30, "9"), arrow(105, 68, 105, 52, "bad"), text(148, 44, "8 ?",
        "big")),
    "linger": sheet(clock(28, 44, 14), rect(58, 28, 84, 32, "line dash", 6), cells(64, 37, "ccc"), arrow(112, 14, 122,
        34, "soft"), arrow(148, 44, 184, 44)),
    "timeout": sheet(client(4, 33, "C", 38), arrow(46, 44, 84, 44), clock(104, 44, 15), path("M124 44h28",
        "soft dash"), text(172, 52, "?", "big")),
}  # fmt: skip


def _reading(*rows: tuple[str, int]) -> list[Marks]:
    """Logs at the left, each with an arrow to one of the members at the right: rows of (cells, which)."""
    return [(cells(12, 8 + 28 * row, pattern, row + 1), arrow(66, 15 + 28 * row, 134, 19 + 28 * to)) for row,
        (pattern, to) in enumerate(rows)]


_GROUPS = {
    "group": sheet(_reading(("ccc", 0), ("ccc", 0), ("ccc", 2)), rect(136, 2, 60, 84, "accent dash", 8), client(146,
        8, "C1"), client(146, 60, "C2")),
    "coordinator": sheet(client(6, 4, "C1"), client(6, 33, "C2"), client(6, 62, "C3"), arrow(50, 15, 104, 36),
        arrow(50, 44, 104, 44), arrow(50, 73, 104, 52), rect(108, 16, 84, 56), rect(108, 16, 6, 56, "b2", 1),
        page(126, 26, 48, 38)),
    "member": sheet(rect(10, 2, 84, 84, "soft dash", 8), client(30, 8, "C1"), rect(26, 30, 48, 28, "accent", 12),
        client(30, 33, "C2"), client(30, 60, "C3"), arrow(78, 44, 118, 44), cells(126, 26, "ccc"), cells(126, 48,
        "ccc", 2)),
    "rebalance": sheet(client(6, 14, "C1"), client(6, 52, "C2"), cells(90, 8, "c"), cells(90, 37, "c", 2), cells(90,
        66, "c", 3), arrow(50, 22, 84, 15), arrow(50, 30, 84, 42, "soft dash"), arrow(50, 60, 84, 46), arrow(50, 66,
        84, 72), path("M134 30a18 18 0 1 1 -2 26", "accent"), path("M138 22l-4 9l10 1", "accent")),
    "cooperative": sheet(client(6, 4, "C1"), client(6, 33, "C2"), client(6, 62, "C3"), cells(140, 8, "ccc"),
        cells(140, 37, "ccc", 2), cells(140, 66, "ccc", 3), arrow(50, 15, 132, 15, "good"), arrow(50, 44, 132, 44,
        "good"), arrow(50, 73, 132, 73, "soft dash")),
    "generation": sheet([disc(34 + 44 * one, 40, 16, "soft" if one < 3 else "accent") for one in range(4)],
        [text(34 + 44 * one, 45, str(4 + one), "big") for one in range(4)], arrow(24, 76, 176, 76, "soft")),
    "heartbeat": sheet(client(6, 33, "C", 40), path("M54 44h20l5 -16l7 28l6 -12h14l5 -16l7 28l6 -12h12", "good"),
        server(146, 31, 2)),
    "poll": sheet(server(6, 31, 1), arrow(140, 36, 58, 36), arrow(58, 54, 140, 54, "soft"), cells(78, 60, "ccc"),
        client(146, 33, "C", 46), clock(98, 20, 9)),
    "assignor": sheet([(cells(10, 5 + 20 * row, "c", row % 3 + 1), arrow(30, 12 + 20 * row, 128, 26 + 36 * (row // 2),
        "soft")) for row in range(4)], client(136, 15, "C1"), client(136, 51, "C2")),
    "static-membership": sheet(client(10, 33, "C1"), cross(30, 18, 6), arrow(56, 44, 84, 44, "soft dash"), client(90,
        33, "C1"), tick(110, 18, 6), cells(148, 37, "cc"), arrow(134, 44, 144, 44)),
    "position": sheet(cells(20, 24, "cccccccc"), arrow(107, 66, 107, 42, "accent"), client(88, 66, "C", 38)),
    "committed-offset": sheet(cells(20, 16, "cccccccc"), path("M68 36v14l7 -5l7 5v-14z", "accently"), page(60, 54, 30,
        30), arrow(123, 58, 123, 34, "soft dash"), text(123, 72, "C")),
    "offset-reset": sheet(cells(20, 46, "cccccccc"), client(80, 4, "C", 40), arrow(84, 26, 28, 42), arrow(116, 26,
        146, 42), text(100, 42, "?", "big")),
    "lag": sheet(cells(20, 30, "cccccccc"), edge(20, 30, 3), edge(20, 30, 8), path("M67 58v10h80v-10", "bad"),
        text(107, 82, "5")),
}  # fmt: skip

_LAB = {
    "receipt": sheet(path("M70 6h60v74l-10 -6l-10 6l-10 -6l-10 6l-10 -6l-10 6z", "line"),
        path("M80 20h24M80 34h24M80 48h24", "soft"), tick(116, 19, 4), tick(116, 33, 4), cross(117, 48, 4)),
    "fork": sheet(path("M14 44h70", "line bold"), path("M84 44C110 44 110 20 140 20H184", "line bold"),
        path("M84 44C110 44 110 68 140 68H184", "accent"), disc(84, 44, 5, "inkly")),
    "seed": sheet(rect(16, 30, 28, 28, "line", 5), disc(24, 38, 2.5, "inkly"), disc(36, 50, 2.5, "inkly"), disc(30,
        44, 2.5, "inkly"), arrow(52, 36, 84, 22), arrow(52, 52, 84, 66), cells(92, 15, "ABACA"), cells(92, 59,
        "ABACA"), text(186, 50, "=", "big")),
    "journal": sheet(page(40, 6, 120, 76), clock(58, 18, 6), clock(58, 44, 6), clock(58, 70, 6), arrow(150, 24, 150,
        38, "accent"), arrow(150, 50, 150, 64, "accent")),
}  # fmt: skip

PICTURES: dict[str, str] = {**_CLUSTER, **_COPIES, **_LOG, **_DECIDING, **_REQUESTS, **_GROUPS, **_LAB}
