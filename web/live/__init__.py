"""The live wire between a lab and its viewers (format: `consumer`)."""
