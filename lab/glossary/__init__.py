"""The words of Kafka and of the lab: one sentence and one small picture for each, in both languages."""
