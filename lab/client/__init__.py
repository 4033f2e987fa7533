"""A lab for scripts and notebooks. Nothing but the standard library of Python is needed here.

The words of the lab are its commands (`levers`), the same as those of the page, of REST and of a scenario's steps. Who
carries them out is another matter: a server behind REST, or a cluster inside the process of a test (`lab.testing`).
What is refused is an exception with a code and parameters (`errors`).
"""
