"""Codes of problems of several clusters on one ensemble."""

from __future__ import annotations

from broker_core.kernel.problems.registry import found_in

found_in("lab")(
    chroot_elsewhere="",
    chroot_of_zookeeper="",
    chroot_taken="given other",
    expected_chroot="given",
    expected_neighbour_name="given",
    most_neighbours="n",
    name_of_neighbour="name",
    neighbours_not_formed="",
    neighbours_of_zookeeper="",
    neighbours_simulated="",
    no_neighbour="name",
    not_of_neighbours="node known",
    subject_of_own="key",
)
