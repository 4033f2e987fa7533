"""In which of the two languages somebody is answered: the cookie of the page's choice, else Accept-Language."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation.trans_real import parse_accept_lang_header

from web.messages import LANGUAGES


def spoken(accept: str, cookies: str = "") -> str:
    """`ko` for "ko-KR,ko;q=0.9"; English when neither language is asked for."""
    try:
        chosen = SimpleCookie(cookies).get(settings.LANGUAGE_COOKIE_NAME)
    except CookieError:
        chosen = None
    if chosen is not None and chosen.value in LANGUAGES:
        return chosen.value
    for wanted, _ in parse_accept_lang_header(accept.lower()):
        if wanted == "*":
            break
        if wanted.partition("-")[0] in LANGUAGES:
            return wanted.partition("-")[0]
    return LANGUAGES[0]


def language_of(request: HttpRequest) -> str:
    """The language of a request's answer."""
    return spoken(request.headers.get("Accept-Language", ""), request.headers.get("Cookie", ""))
