"""The page's own files: hashed by name, held in memory, served without asking the disk.

    static/views/stage.js  ->  DATA/web/static/views/stage.3f1c09a2b7de.js

A hashed name may be kept for ever by the browser. Names inside `import` statements are replaced
too (`support_js_module_import_aggregation`), so a module and all that it imports are of one
version. `collect` runs at start-up and does nothing when no file has changed since.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import posixpath
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.contrib.staticfiles.utils import matches_patterns

FOREVER = b"public, max-age=31536000, immutable"


class HashedModules(ManifestStaticFilesStorage):
    """Django's manifest storage, with the names inside ES modules replaced as well, and every file written once.

    A name depends on all that the file imports. Django goes over all files until no name changes any more, a pass for
    each step of the longest chain of imports; here what a file names is finished first, when its name is asked for.
    """

    support_js_module_import_aggregation = True

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Any:
        """(name, hashed name, whether it was written, or what was wrong) of each file."""
        self.hashed_files = {}
        self._left = {} if dry_run else dict(paths)
        self._adjustable = [name for name in paths if matches_patterns(name, list(self._patterns))]  # type: ignore[attr-defined]
        self._done: list[tuple[str, str | None, Any]] = []
        while self._left:
            self._finish(next(iter(self._left)))
        yield from self._done
        if not dry_run:
            self.save_manifest()

    def _finish(self, name: str) -> None:
        place = {name: self._left.pop(name)}
        for _, hashed, processed, _ in self._post_process(place, self._adjustable, self.hashed_files):  # type: ignore[attr-defined]
            self._done.append((name, hashed, processed))

    def _stored_name(self, name: str, hashed_files: dict[str, str]) -> str:
        """Called for each name that stands in a file."""
        named = posixpath.normpath(name)
        if named in self._left:
            self._finish(named)
        elif named in self._adjustable and named not in hashed_files:
            raise ValueError(f"{named} imports itself, by way of others")
        return str(super()._stored_name(name, hashed_files))  # type: ignore[misc]


def _fingerprint(directory: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            facts = path.stat()
            found.update(f"{path.relative_to(directory)} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return found.hexdigest()


def collect() -> None:
    """Write the hashed files below the data directory when the sources differ from the last time."""
    root = Path(settings.STATIC_ROOT)
    stamp = root / ".sources"
    wanted = _fingerprint(Path(settings.STATICFILES_DIRS[0]))
    if stamp.exists() and stamp.read_text() == wanted:
        return
    from django.core.management import call_command

    call_command("collectstatic", interactive=False, clear=root.exists(), verbosity=0)
    stamp.write_text(wanted)


class StaticFiles:
    """An ASGI application for everything below STATIC_URL; read once, compressed once."""

    def __init__(self) -> None:
        self._names: frozenset[str] | None = None
        self._found: dict[str, tuple[bytes, bytes, str]] = {}

    def _load(self, name: str) -> tuple[bytes, bytes, str] | None:
        """By its name as it stands on the disk: no address leads anywhere else, whatever is in it."""
        root = Path(settings.STATIC_ROOT)
        if self._names is None:
            paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
            self._names = frozenset(path.as_posix() for path in paths if not path.name.startswith("."))
        if name not in self._names:
            return None
        if name not in self._found:
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            body = (root / name).read_bytes()
            self._found[name] = (body, gzip.compress(body, 6, mtime=0), kind)
        return self._found[name]

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer GET and HEAD; anything that is not there is 404."""
        found = self._load(scope["path"].removeprefix(settings.STATIC_URL))
        if found is None or scope["method"] not in ("GET", "HEAD"):
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body"})
            return
        body, packed, kind = found
        headers = [(b"cache-control", FOREVER), (b"x-content-type-options", b"nosniff"), (b"vary", b"accept-encoding")]
        charset = "; charset=utf-8" if kind.startswith("text/") or kind.endswith("javascript") else ""
        headers.append((b"content-type", f"{kind}{charset}".encode()))
        if any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"]):
            headers.append((b"content-encoding", b"gzip"))
            body = packed
        headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
