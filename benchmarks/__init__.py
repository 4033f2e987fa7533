"""This lab beside Apache Kafka, on one machine, through the same client. See docs/performance.md."""
