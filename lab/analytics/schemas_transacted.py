"""Tables of transactions and of share groups, as `schemas` lists them."""

from __future__ import annotations

from lab.analytics.declaring import MOMENT, TP, Table, columns

TRANSACTIONS = Table("transactions", "one transaction in the log of one partition, as its leader tells",
                     columns(MOMENT + TP + """
    producer_id  bigint  of the producer
    transactional_id  string  whose producer id it is, null when no coordinator told
    first_offset  bigint  offset of its first record here
    marker_offset  bigint  offset of its marker, null while it is open
    outcome  string  commit, abort; null while it is open
    ended_us  bigint  when the marker was appended, null while it is open
"""))
SHARE_DELIVERIES = Table("share_deliveries", "one delivery of one record to a member of a share group (KRaft)",
                         columns(MOMENT + """
    group  string  group id
""" + TP + """
    offset  bigint  offset of the record
    client  string  client.id of the member that got it
    delivery  int  the how manyth
    lock_until_us  bigint  until when it had it for itself, without renewal
    ended  string  acknowledged, archived, available (given back), lock ran out, another leader; null: not at all
    ended_us  bigint  when, null when it did not end
"""))
