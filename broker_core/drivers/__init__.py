"""The only real input and output: sockets, files, the wall clock. Everything below is a pure world."""
