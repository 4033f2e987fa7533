"""Parameters of events and fields of operations that tables are made of, as Spark's types."""

REQUEST = ("struct<api string, version int, correlation bigint, source string, client_id string, to string,"
           "connection string, error string, queue_us bigint, local_us bigint, remote_us bigint, response_us bigint,"
           "operation string, waited_us bigint>")
REPLICA = ("struct<topic string, partition int, isr array<int>, removed array<int>, added array<int>,"
           "reason string, leader_epoch int, error string, leader int, previous int, base_offset bigint,"
           "last_offset bigint, bytes bigint, role string, before bigint, after bigint>")
GROUP = ("struct<`group` string, before string, after string, generation int, reason string, member string,"
         "client_id string, instance string, assignment map<string, map<string, array<int>>>, topic string,"
         "partition int, offset bigint>")
EPOCHS = ("struct<`group` string, member string, client_id string, epoch int, state string,"
          "assigned map<string, array<int>>, revoking map<string, array<int>>>")
STORAGE = ("struct<topic string, partition int, base_offset bigint, last_offset bigint, start bigint, `end` bigint,"
           "offset bigint, after bigint, bytes bigint, bytes_cut bigint, bytes_before bigint, bytes_after bigint,"
           "clean boolean, file string, reason string, how string>")
FAULT = ("struct<how string, source string, dest string, delay_us bigint, jitter_us bigint, `drop` double,"
         "duplicate double, reorder double, bandwidth bigint, partitioned boolean, faults array<string>,"
         "protection string, `on` boolean, command string>")
BELIEF = ("struct<path string, ephemeral string, version bigint, session string, owner string, timeout_ms bigint,"
          "broker int, epoch bigint, topic string, partition int, leader int, leader_epoch bigint, isr array<int>,"
          "source string, topics array<string>, reason string, controller int, api string, current bigint,"
          "resource string, name string, `key` string, value string, partitions string, generation int,"
          "replication_factor int, deleted boolean>")
QUORUM = ("struct<before string, after string, epoch bigint, leader int, candidate int, broker int,"
          "broker_epoch bigint, reason string>")
TRANSACTED = ("struct<topic string, partition int, producer_id bigint, transactional_id string, offset bigint,"
              "first_offset bigint, outcome string>")
SHARED = ("struct<`group` string, topic string, partition int, client string, first bigint, last bigint, count int,"
          "lock_ms bigint, state string>")
CONTROL = ("struct<api string, `to` string, partitions int, epoch bigint, correlation bigint>")
FIELDS = ("struct<topic string, partition int, offset bigint, label string, `values` array<array<bigint>>,"
          "texts array<string>, runs array<array<string>>, delivery int, `group` string,"
          "offsets array<array<string>>, id string,"
          "acks int, error string, created_us bigint, broker string, transaction string>")
