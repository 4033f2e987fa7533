"""Makes the virtual environment that the lab runs in; needs nothing but the standard library.

    bootstrap.py CHECKOUT VENV COMMAND [ARGUMENTS...]

A copy of each lock file stands in the environment once its packages are complete; a start compares the
two and installs only what differs. An environment without the copy was interrupted and is made anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import ssl
import subprocess
import sys
import urllib.parse
import urllib.request
import venv
from collections import deque
from collections.abc import Iterator
from pathlib import Path

MARK = "made-by-brokerlab"
NEEDS_MORE = {
    "test": ("test", "spark"), "bench": ("test", "spark"), "replay": ("spark",), "sweep": ("spark",),
    "pictures": ("test",),
}  # fmt: skip
PIP_VERSION = "26.0"
PIP_SHA256 = "98436feffb9e31bc9339cf369fd55d3331b1580b6a6f1173bacacddcf9c34754"


class BootstrapError(Exception):
    """Why there is no environment, in one line."""


def main(arguments: list[str]) -> int:
    """Bring the environment up to date and become the command line inside it."""
    checkout, environment, command = Path(arguments[0]), Path(arguments[1]).absolute(), arguments[2:]
    groups = groups_of(command)
    try:
        prepare(checkout, environment, groups)
    except BootstrapError as error:
        print(f"brokerlab: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"brokerlab: cannot make {environment}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nbrokerlab: interrupted; the next start begins anew", file=sys.stderr)
        return 130
    python = str(environment / "bin" / "python")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(checkout), os.environ.get("PYTHONPATH")]))
    os.execv(python, [python, "-P", "-m", "cli", *command])


def groups_of(command: list[str]) -> list[str]:
    """The lock files whose packages a command needs."""
    return ["run", *(group for word in command[:1] for group in NEEDS_MORE.get(word, ()))]


def prepare(checkout: Path, environment: Path, groups: list[str]) -> None:
    """Make the environment hold exactly what the lock files of `groups` name."""
    with only_one(environment.parent):
        make_environment(environment)
        for group in groups:
            lock = checkout / "requirements" / f"{group}.txt"
            done = environment / f"installed-{group}.txt"
            if done.exists() and done.read_bytes() == lock.read_bytes():
                continue
            done.unlink(missing_ok=True)
            install(environment, lock)
            partial = done.with_suffix(".partial")
            partial.write_bytes(lock.read_bytes())
            partial.replace(done)


@contextlib.contextmanager
def only_one(directory: Path) -> Iterator[None]:
    """One bootstrap at a time in a directory; the others wait."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another start installs already; waiting for it ...", file=sys.stderr, flush=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def make_environment(environment: Path) -> None:
    """A new virtual environment where there is none, or only an interrupted one."""
    if environment.exists():
        if not (environment / MARK).exists() and any(environment.iterdir()):
            raise BootstrapError(f"{environment} is not Brokerlab's own; move it away or set BROKERLAB_VENV")
        if usable(environment):
            return
        shutil.rmtree(environment)
    print(f"First start: making {environment} with Python {sys.version.split()[0]} ...", file=sys.stderr, flush=True)
    environment.mkdir(parents=True)
    (environment / MARK).write_text("The start script may delete and make this directory anew.\n")
    bundled = importlib.util.find_spec("ensurepip") is not None
    venv.create(environment, with_pip=bundled, symlinks=True)
    if not bundled:
        install_pip(environment)


def install_pip(environment: Path) -> None:
    """Debian's Python comes without the bundled pip: take the pinned wheel from the package index."""
    wheel = environment / f"pip-{PIP_VERSION}-py3-none-any.whl"
    wheel.write_bytes(fetch_pip())
    run = [str(environment / "bin" / "python"), f"{wheel}/pip", "install", "--no-deps", "--no-index", "-q", str(wheel)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    wheel.unlink()
    if done.returncode != 0:
        raise BootstrapError(f"could not install pip {PIP_VERSION}: {done.stderr.strip()}")


def fetch_pip() -> bytes:
    """The wheel, checked against its pinned hash (PEP 503: the index page links every file)."""
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pip/"
    context = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    try:
        with urllib.request.urlopen(index, context=context, timeout=60) as page:
            links = re.findall(r'href="([^"#]+)', page.read().decode())
        addresses = [urllib.parse.urljoin(index, link) for link in links]
        address = next(one for one in addresses if one.endswith(f"/pip-{PIP_VERSION}-py3-none-any.whl"))
        with urllib.request.urlopen(address, context=context, timeout=60) as file:
            content: bytes = file.read()
    except (OSError, StopIteration) as error:
        name = f"python{sys.version_info.major}.{sys.version_info.minor}"
        reason = str(error) or f"pip {PIP_VERSION} is not on the index"
        raise BootstrapError(
            f"this Python has no pip, and it could not be fetched ({reason}); "
            f"on Debian and Ubuntu also: sudo apt install {name}-venv"
        ) from error
    if hashlib.sha256(content).hexdigest() != PIP_SHA256:
        raise BootstrapError(f"pip {PIP_VERSION} from {index} does not have the pinned hash")
    return content


def usable(environment: Path) -> bool:
    """Whether a complete environment is there whose Python still runs and is new enough."""
    if not (environment / "installed-run.txt").exists():
        return False
    check = [str(environment / "bin" / "python"), "-c", "import pip, sys; sys.exit(sys.version_info < (3, 11))"]
    try:
        return subprocess.run(check, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def install(environment: Path, lock: Path) -> None:
    """Install the pins of one lock file, a line of progress for each package."""
    total = sum(bool(re.match(r"\w", line)) for line in lock.read_text().splitlines())
    python = str(environment / "bin" / "python")
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--no-input",
               "--progress-bar", "off", "-r", str(lock)]
    tail: deque[str] = deque(maxlen=4)
    seen: dict[str, None] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            tail.append(line.strip())
            found = re.match(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+==\S+)", line)
            if found and found[1] not in seen:
                seen[found[1]] = None
                show(f"Installing {len(seen)}/{total} {found[1]}")
            elif line.startswith("Installing collected packages"):
                show(f"Installing {total} packages ...")
    show("")
    if pip.returncode != 0:
        reason = next((line for line in reversed(tail) if line.startswith("ERROR")), "; ".join(tail))
        raise BootstrapError(f"could not install {lock.name}: {reason}")


def show(text: str) -> None:
    """Progress: one line that changes on a terminal, a line each elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
