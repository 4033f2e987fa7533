"""Teachers' accounts: the list for whoever may do everything, and the door at which a teacher comes in.

Whoever brings wrong passwords is not listened to for a while, as with wrong tokens (`web.entrance`).
"""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from web.entrance import Throttle
from web.pages.classes import page
from web.people import seats
from web.people.teachers import all_of_them, entered

throttle = Throttle()


@require_GET
@ensure_csrf_cookie
async def accounts(request: HttpRequest) -> HttpResponse:
    """All teachers, and a form for a new one."""
    return page(request, "teachers.html", {"rows": await sync_to_async(all_of_them)()})


@require_http_methods(["GET", "POST"])
@ensure_csrf_cookie
async def door(request: HttpRequest) -> HttpResponse:
    """A form with name and password; a session for whoever sends the right ones."""
    if request.method != "POST":
        return page(request, "teach.html", {"wrong": "", "name": ""})
    peer = request.META.get("REMOTE_ADDR", "")
    name = request.POST.get("name", "")[:200]
    if throttle.too_many(peer):
        return page(request, "teach.html", {"wrong": "teach_wait", "name": name}, 429)
    user = await sync_to_async(entered)(name, request.POST.get("password", "")[:200])
    if user is None:
        throttle.count(peer)
        return page(request, "teach.html", {"wrong": "teach_wrong", "name": name}, 422)
    response = HttpResponseRedirect(reverse("classes"))
    await seats.sit_down(request, user, response)
    return response


@require_POST
async def leave(request: HttpRequest) -> HttpResponse:
    """This browser is nobody's any more."""
    response = HttpResponseRedirect(reverse("teach"))
    await seats.stand_up(request, response)
    return response
