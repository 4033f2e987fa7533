"""Template tags of the page: translated text, and JSON that is safe inside a page."""

from __future__ import annotations

import re
from typing import Any

from django import template
from django.utils.html import conditional_escape, format_html
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


@register.filter
def dotted(name: str) -> SafeString:
    """The name of a setting or a metric, which is broken behind its dots and nowhere else."""
    return mark_safe("<wbr>".join(conditional_escape(part) for part in re.split(r"(?<=\.)", name)))


@register.simple_tag
def data(identity: str, text: str) -> SafeString:
    """A JSON block that the modules read; `<` is escaped, so no text in it can end the block."""
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return mark_safe(f'<script type="application/json" id="{identity}">{safe}</script>')
