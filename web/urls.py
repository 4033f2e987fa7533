"""Where everything is."""

from __future__ import annotations

from django.urls import path
from django.views.i18n import set_language

from web.api.api import api
from web.api.docs import problem_types, style
from web.api.errors import nowhere
from web.pages import basics, class_report, classes, exercises, glossary, joining, paper, polls, quizzes, teaching
from web.pages import trace
from web.pages import views as pages
from web.pages.limits import eras_page, not_modelled

handler404 = pages.nowhere

urlpatterns = [
    path("", pages.lab, name="lab"),
    path("projector/", pages.projector, name="projector"),
    path("messages/<str:language>.json", pages.messages, name="messages"),
    path("exercises/", exercises.exercises, name="exercises"),
    path("exercises/own/", exercises.own, name="own-exercise"),
    path("exercises/<slug:name>/", exercises.exercise, name="exercise"),
    path("quizzes/", quizzes.quizzes, name="quizzes"),
    path("quizzes/<slug:name>/", quizzes.quiz, name="quiz"),
    path("paper/lessons/<slug:name>/", paper.lesson, name="lesson-handout"),
    path("paper/exercises/<slug:name>/", paper.exercise, name="exercise-handout"),
    path("keys/lessons/<slug:name>/", paper.lesson_key, name="lesson-key"),
    path("keys/exercises/<slug:name>/", paper.exercise_key, name="exercise-key"),
    path("classes/", classes.all_of_them, name="classes"),
    path("classes/<str:code>/", classes.one, name="class"),
    path("classes/<str:code>/door/", classes.door, name="class-door"),
    path("classes/<str:code>/door.svg", classes.door_picture, name="class-door-picture"),
    path("classes/<str:code>/hand-ins/<str:number>/", classes.hand_in, name="hand-in"),
    path("classes/<str:code>/report/", class_report.class_report, name="class-report"),
    path("classes/<str:code>/poll/", polls.poll, name="poll"),
    path("teachers/", teaching.accounts, name="teachers"),
    path("teach/", teaching.door, name="teach"),
    path("teach/leave/", teaching.leave, name="teach-leave"),
    path("join/", joining.join, name="join"),
    path("join/<str:code>/", joining.join, name="join-class"),
    path("join/<str:code>/back/<str:text>/", joining.back, name="back"),
    path("class/", joining.seat, name="seat"),
    path("class/poll/", polls.own, name="own-poll"),
    path("class/leave/", joining.leave, name="leave"),
    path("eras/", eras_page, name="eras"),
    path("trace/", trace.trace, name="trace"),
    path("not-modelled/", not_modelled, name="not-modelled"),
    path("basics/", basics.basics, name="basics"),
    path("glossary/", glossary.glossary, name="glossary"),
    path("glossary/<slug:name>.svg", glossary.picture, name="glossary-picture"),
    path("language/", set_language, name="set_language"),
    path("api/docs.css", style, name="api-style"),
    path("api/problems", problem_types, name="api-problems"),
    path("api/", api.urls),
    path("api/<path:rest>", nowhere),
]
