"""Kafka's wire protocol: message schemas, codec, framing, error codes, API versions."""
