"""The words of the tables about a class (`classes`), in English and Korean; those about runs stand in `words`."""

from __future__ import annotations

CLASS: dict[str, tuple[str, str]] = {
    "exercise": ("Exercise", "연습 문제"),
    "tries": ("Tries", "시도"),
    "losing_tries": ("Tries with a loss", "유실이 있던 시도"),
    "losing_students": ("Students with a loss", "유실을 겪은 학생"),
    "most_lost": ("Lost in one run, most", "한 실행의 유실, 최대"),
    "lever": ("Lever", "레버"),
    "value": ("Value", "값"),
    "kind": ("Asked by", "물은 곳"),
    "asked": ("Question", "질문"),
    "answered": ("Answered", "답한 학생"),
    "right": ("Right", "맞음"),
    "near": ("Near", "비슷함"),
    "wrong": ("Wrong", "틀림"),
    "wrong_share": ("Share that was wrong", "틀린 비율"),
    "began": ("Began", "시작한 학생"),
    "reached": ("Reached the goals", "목표를 이룬 학생"),
    "fastest_s": ("Fastest", "가장 빠름"),
    "median_s": ("Median", "중앙값"),
    "slowest_s": ("Slowest", "가장 느림"),
    "tries_p50": ("Tries, median", "시도, 중앙값"),
    "most_tries": ("Tries, most", "시도, 최대"),
}
"""Column -> its heading."""
ASKED_BY: dict[str, tuple[str, str]] = {
    "lesson": ("lesson", "수업"), "quiz": ("quiz", "퀴즈"), "poll": ("poll", "모두에게 묻기"),
}  # fmt: skip
"""A value of `kind` -> how it reads."""
