"""The broker core as C: the recipe of the optional wheel `brokerlab-compiled`.

    python -m compiled DIRECTORY            # makes the wheel there; mypyc's files are below DIRECTORY/build
    pip install DIRECTORY/brokerlab_compiled-*.whl

mypyc (of the package mypy) makes C of the sources of `broker_core`; gcc and Python's headers make libraries of it.
Where the wheel is installed and is of just these sources, they are loaded from it (`broker_core.drivers.native`);
BROKERLAB_COMPILED=0 leaves it alone, =1 insists on it. The journals are the same, byte for byte.

| chapter | what |
|---|---|
| `sources` | which modules are compiled, and the copy of the sources that mypyc gets |
| `build` | C, libraries |
| `wheel` | one file of them, for pip |
"""
