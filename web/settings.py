"""Django's settings of the lab, for one process on one machine unless the environment says more.

| variable | meaning | without it |
|---|---|---|
| BROKERLAB_DATA | the lab's directory; the web has its `web/` in it | `data/` here; installed: `lab.places` |
| DATABASE_URL | `postgresql://user:password@host:port/name` | SQLite in that directory |
| REDIS_URL | where several web processes of one lab meet (`web.live.remote`) | one process |
| BROKERLAB_HOSTS_ALLOWED | more host names, separated by commas | localhost, this machine's name, addresses |
| BROKERLAB_TOKEN | what is asked of those who are not on this machine | drawn, in `web/token` |
| BROKERLAB_CLASS_TOKEN | the same for those who may look only | drawn, in `web/token-class` |
| BROKERLAB_LAB | name of the lab, in REST's addresses and in Redis | `lab` |
| BROKERLAB_ADDRESS | this process's address as callers of the others are told it | where it listens |
| BROKERLAB_LAB_HOST | `remote`: another process hosts the lab, by REDIS_URL; this one has viewers | this process |

The secret key is drawn once for each data directory and stays there.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lab.places import FILES, INSTALLED, ROOT, home

BASE_DIR = ROOT
DATA_DIR = Path(os.environ.get("BROKERLAB_DATA") or (home() if INSTALLED else BASE_DIR / "data")).resolve() / "web"


def _secret_key(directory: Path) -> str:
    """The key kept in `directory`, drawn when it is not there yet; readable by its owner only."""
    path = directory / "secret_key"
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(50))
    return path.read_text()


SQLITE_OPTIONS = {"transaction_mode": "IMMEDIATE", "timeout": 30}
"""A transaction waits for its turn where it begins, at most 30 s. One that begins with a question and then writes is
refused at once ("database is locked") when somebody else has written meanwhile (SQLite, "Transactions", 2.2)."""


def _database(url: str | None) -> dict[str, Any]:
    if not url:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": DATA_DIR / "lab.sqlite3", "OPTIONS": SQLITE_OPTIONS}
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        raise ValueError(f"DATABASE_URL: expected postgresql://..., found {parts.scheme}://...")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
    }


def _channel_layers(url: str | None) -> dict[str, Any]:
    """`processes` joins web processes. WebSockets need no channels of their own: theirs stay in memory."""
    layers: dict[str, Any] = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    if url:
        # No time limit of the socket's: in Python 3.11 it is an `asyncio.wait_for`, which swallows a cancellation that
        # comes when it is about to end (bpo-37658), and the task goes on for ever. TCP's keepalive finds a dead server.
        host = {"address": url, "socket_timeout": None, "socket_connect_timeout": 5}
        config = {"hosts": [host], "capacity": 400, "expiry": 20}
        layers["processes"] = {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": config}
    return layers


LAB_NAME = os.environ.get("BROKERLAB_LAB", "lab")
HOSTS_LAB = os.environ.get("BROKERLAB_LAB_HOST", "") != "remote"
ADDRESS = os.environ.get("BROKERLAB_ADDRESS", "")
REDIS_URL = os.environ.get("REDIS_URL")

SECRET_KEY = _secret_key(DATA_DIR)
DEBUG = False
OWN_HOSTS = ["localhost", socket.gethostname().lower()]
OWN_HOSTS += [name.strip().lower() for name in os.environ.get("BROKERLAB_HOSTS_ALLOWED", "").split(",") if name.strip()]
ALLOWED_HOSTS = ["*"]  # `web.guard` has looked at the Host before Django does

INSTALLED_APPS = [
    "django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "django.contrib.staticfiles",
    "web.pages", "web.api.apps.ApiConfig", "web.people.apps.PeopleConfig",
]  # fmt: skip
MIDDLEWARE = [
    "web.security.content_security_policy",
    "web.api.errors.as_problems",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
]
ROOT_URLCONF = "web.urls"
ASGI_APPLICATION = "web.asgi.application"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

DATABASES = {"default": _database(os.environ.get("DATABASE_URL"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CHANNEL_LAYERS = _channel_layers(REDIS_URL)

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ko", "한국어")]
USE_I18N = True
USE_TZ = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = f"brokerlab-seat-{hashlib.sha256(SECRET_KEY.encode()).hexdigest()[:8]}"
SESSION_COOKIE_AGE = 180 * 24 * 3600  # a term
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

STATIC_URL = "/static/"
STATICFILES_DIRS = [FILES / "static"]
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "web.files.HashedModules"},
}
LOGGING_CONFIG = None
