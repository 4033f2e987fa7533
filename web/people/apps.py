"""The Django application that holds the tables of classes."""

from __future__ import annotations

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """Classes and their students."""

    name = "web.people"
    label = "people"
