"""A wheel of the libraries: a zip with a table of what is in it (PyPA's binary distribution format)."""

from __future__ import annotations

import base64
import hashlib
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

from broker_core.drivers.native import WHEEL
from compiled.build import GROUP, SUFFIX
from compiled.sources import CHECKOUT, modules

STAMP = (2020, 1, 1, 0, 0, 0)
"""Of all files: the same sources and compilers make the same wheel."""


def write(directory: Path, libraries: Path, of: str) -> Path:
    """The wheel of what is below `libraries`, in `directory`; `of`: digest of the sources before they were read."""
    version = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["version"]
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    files = {f"{WHEEL}/__init__.py": _tables(of).encode()}
    for path in sorted(libraries.rglob(f"*{SUFFIX}")):
        files[f"{WHEEL}/{path.relative_to(libraries).as_posix()}"] = path.read_bytes()
    about = f"{WHEEL}-{version}.dist-info"
    files[f"{about}/METADATA"] = _METADATA.format(version=version).encode()
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: brokerlab\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    rows = [f"{name},sha256={_sha256(content)},{len(content)}\n" for name, content in files.items()]
    files[f"{about}/RECORD"] = ("".join(rows) + f"{about}/RECORD,,\n").encode()
    wheel = directory / f"{WHEEL}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, STAMP), content, zipfile.ZIP_DEFLATED)
    return wheel


def _tables(of: str) -> str:
    """The package's own module: what it was made of, and what it has."""
    names = [f"{GROUP}__mypyc", *(name.removesuffix(".py").replace("/", ".") for name in modules())]
    return (
        '"""Compiled modules of broker_core; broker_core.drivers.native finds them."""\n'
        f"DIGEST = {of!r}\nSOURCES = {modules()!r}\nLIBRARIES = {names!r}\n"
    )


_METADATA = """Metadata-Version: 2.1
Name: brokerlab-compiled
Version: {version}
Summary: The way of a record through Brokerlab's core, compiled
Requires-Dist: mypy-extensions>=1.0
"""


def _sha256(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
