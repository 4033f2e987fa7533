"""Producer, consumer and admin as machines of the world, with the algorithms of Kafka's own clients.

From the bottom: `settings` (Kafka's names and defaults), `metadata` (who leads what), `partitioner`,
`accumulator` and `sender` (the producer), `fetcher`, `coordinator` and `assignors` (the consumer), and
above them the machines `producer`, `consumer` and `admin`.
"""
