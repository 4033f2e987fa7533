"""What the server says on its way out."""

from __future__ import annotations

import inspect
import logging

import uvicorn

from web.server import is_news


def test_what_uvicorn_says_of_a_page_that_is_still_open_is_no_news_and_all_else_is() -> None:
    assert "Cancel %s running task(s)" in inspect.getsource(uvicorn.Server.shutdown)
    said = ["Cancel %s running task(s), timeout graceful shutdown exceeded", "Exception in ASGI application\n"]
    records = [logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, one, (), None) for one in said]
    assert [is_news(one) for one in records] == [False, True]
