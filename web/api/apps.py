"""The Django application that holds the table of jobs."""

from __future__ import annotations

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """REST."""

    name = "web.api"
    label = "api"
