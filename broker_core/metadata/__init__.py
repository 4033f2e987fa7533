"""What the cluster knows about itself: settings of brokers and topics, and the picture of its metadata."""
