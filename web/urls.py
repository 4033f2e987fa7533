"""Where everything is."""

from __future__ import annotations

from django.urls import path
from django.views.i18n import set_language

from web.api import views as api
from web.pages import views as pages

urlpatterns = [
    path("", pages.lab, name="lab"),
    path("messages/<str:language>.json", pages.messages, name="messages"),
    path("language/", set_language, name="set_language"),
    path("api/lab", api.snapshot, name="api-snapshot"),
    path("api/lab/events", api.events, name="api-events"),
    path("api/lab/commands", api.command, name="api-command"),
]
