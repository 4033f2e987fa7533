"""Brings the database's tables up to date when a server starts.

With SQLite that is skipped when the steps are those of the last time; another database is asked. It is
done in a thread of its own, because Django refuses a database to a thread with a running event loop.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

from django.conf import settings

SQLITE = "django.db.backends.sqlite3"


def migrate() -> None:
    """Apply the steps that are missing. Raises what the database says."""
    stamp = settings.DATA_DIR / ".migrated"
    wanted = _steps()
    database = settings.DATABASES["default"]
    if database["ENGINE"] == SQLITE and Path(database["NAME"]).exists() and stamp.exists():
        if stamp.read_text() == wanted:
            return
    failed: list[Exception] = []
    thread = threading.Thread(target=_migrate, args=(failed,), name="migrate")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(wanted)


def shown() -> str:
    """The database as a message names it: no password."""
    found = settings.DATABASES["default"]
    if found["ENGINE"] == SQLITE:
        return f"the database {found['NAME']}"
    return f"the database {found['NAME']} on {found['HOST'] or 'this machine'}:{found['PORT'] or 5432}"


def _migrate(failed: list[Exception]) -> None:
    from django.core.management import call_command
    from django.db import connections

    try:
        call_command("migrate", interactive=False, verbosity=0)
    except Exception as error:
        failed.append(error)
    finally:
        connections.close_all()


def _steps() -> str:
    """A fingerprint of all steps of this project."""
    found = hashlib.sha256()
    for path in sorted(settings.BASE_DIR.glob("web/*/migrations/[0-9]*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()
