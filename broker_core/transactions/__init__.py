"""What makes repeated sends harmless: producer ids."""
