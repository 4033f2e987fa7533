"""What a text column says is wrong, in English."""

from lab.analytics.words import ENGLISH


def said(text):
    return ENGLISH.value("error", text)
