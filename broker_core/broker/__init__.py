"""One broker: composes everything below, and answers requests."""
