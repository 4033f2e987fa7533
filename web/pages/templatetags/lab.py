"""Template tags of the page: translated text, and JSON that is safe inside a page."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from web.messages import said

register = template.Library()


@register.simple_tag(takes_context=True)
def t(context: dict[str, Any], key: str, **values: Any) -> str:
    """The text of `key` in the page's language, with its parameters: `{% t "students" n=row.students %}`."""
    return said(context["words"], key, **values)


@register.simple_tag(takes_context=True)
def label(context: dict[str, Any], key: str) -> SafeString:
    """` data-t="key"` and the text: an element that changes when the language is switched."""
    return format_html('<span data-t="{}">{}</span>', key, context["words"][key])


@register.simple_tag
def data(identity: str, text: str) -> SafeString:
    """A JSON block that the modules read; `<` is escaped, so no text in it can end the block."""
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return mark_safe(f'<script type="application/json" id="{identity}">{safe}</script>')
