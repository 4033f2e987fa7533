"""Where requests wait for something to happen: a timing wheel and the operations parked on it."""
