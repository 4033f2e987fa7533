"""Classes, students, what is handed out, what is handed in.

A hand-in goes through these states:

    queued --> running --> passed | missed     its goals were reached under all seeds, or not
                       --> refused             it is a run of something else than this exercise
                       --> forged              a packed run that does not come out again as it was handed in
                       --> failed              the server could not judge it; it does not count as a try
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import models

QUEUED, RUNNING, PASSED, MISSED, REFUSED, FORGED, FAILED = (
    "queued", "running", "passed", "missed", "refused", "forged", "failed",
)  # fmt: skip
WAITING = (QUEUED, RUNNING)
OPEN, CLOSED, TOLD, ENDED = "open", "closed", "told", "ended"


class Classroom(models.Model):
    """A class. Whoever knows its code can join while it is open. `teacher`: whose it is, when he has an account; one
    of nobody's is that of whoever may do everything."""

    code = models.CharField(primary_key=True, max_length=8)
    title = models.CharField(max_length=100)
    is_open = models.BooleanField(default=True)
    created = models.DateTimeField(auto_now_add=True)
    teacher = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="classes")

    class Meta:
        app_label = "people"
        ordering = ("created", "code")

    def __str__(self) -> str:
        return f"class {self.code}"


class Group(models.Model):
    """Students of a class who share a lab."""

    classroom = models.ForeignKey(Classroom, on_delete=models.CASCADE, related_name="groups")
    number = models.PositiveIntegerField()

    class Meta:
        app_label = "people"
        ordering = ("number",)
        constraints = [models.UniqueConstraint(fields=("classroom", "number"), name="one_group_a_number")]

    def __str__(self) -> str:
        return f"group {self.owner}"

    @property
    def owner(self) -> str:
        """As labs name whose they are: CLASS/gNUMBER."""
        return f"{self.classroom_id}/g{self.number}"


class Seat(models.Model):
    """A student in a class, under the name that he has given himself there."""

    user = models.OneToOneField(User, on_delete=models.CASCADE)
    classroom = models.ForeignKey(Classroom, on_delete=models.CASCADE, related_name="seats")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=60)
    joined = models.DateTimeField(auto_now_add=True)
    group = models.ForeignKey(Group, null=True, on_delete=models.SET_NULL, related_name="seats")

    class Meta:
        app_label = "people"
        ordering = ("number",)
        constraints = [
            models.UniqueConstraint(fields=("classroom", "number"), name="one_seat_a_number"),
            models.UniqueConstraint(fields=("classroom", "name"), name="one_seat_a_name"),
        ]

    def __str__(self) -> str:
        return f"student {self.owner}"

    @property
    def owner(self) -> str:
        """As labs name whose they are (`web.api.models.LabRecord`): CLASS/NUMBER."""
        return f"{self.classroom_id}/{self.number}"


class Task(models.Model):
    """An exercise that is handed out, as it was at that moment."""

    classroom = models.ForeignKey(Classroom, on_delete=models.CASCADE, related_name="tasks")
    name = models.CharField(max_length=100)
    document = models.JSONField()
    tries = models.PositiveIntegerField(null=True)
    due = models.DateTimeField(null=True)
    given = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "people"
        ordering = ("given", "id")
        constraints = [models.UniqueConstraint(fields=("classroom", "name"), name="one_task_a_name")]

    def __str__(self) -> str:
        return f"task {self.name} of {self.classroom_id}"


class Work(models.Model):
    """What a student has seen of a task."""

    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="works")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="works")
    opened = models.DateTimeField(auto_now_add=True)
    hints = models.PositiveIntegerField(default=0)

    class Meta:
        app_label = "people"
        constraints = [models.UniqueConstraint(fields=("seat", "task"), name="one_work_a_task")]

    def __str__(self) -> str:
        return f"work of {self.seat_id} on {self.task_id}"


class LessonResult(models.Model):
    """What a student has made of a lesson: `grade` is the best of all times that he has seen it to its end, `first` the
    one of his first prediction."""

    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="lessons")
    name = models.CharField(max_length=100)
    grade = models.CharField(max_length=8)
    first = models.CharField(max_length=8, default="")

    class Meta:
        app_label = "people"
        ordering = ("seat", "name")
        constraints = [models.UniqueConstraint(fields=("seat", "name"), name="one_result_a_lesson")]

    def __str__(self) -> str:
        return f"{self.grade} in {self.name} of {self.seat_id}"


class QuestionResult(models.Model):
    """What a student has answered to a question of a quiz: how often, the first grade and the best one."""

    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="questions")
    name = models.CharField(max_length=100)
    first = models.CharField(max_length=8)
    grade = models.CharField(max_length=8)
    tries = models.PositiveIntegerField(default=1)

    class Meta:
        app_label = "people"
        ordering = ("seat", "name")
        constraints = [models.UniqueConstraint(fields=("seat", "name"), name="one_result_a_question")]

    def __str__(self) -> str:
        return f"{self.grade} in {self.name} of {self.seat_id}"


class HandIn(models.Model):
    """One try at a task. `attempt`: levers and steps, of a packed run those that were found in it; `grade`: what
    judging said (`lab.exercises.grading.Grade`)."""

    id = models.CharField(primary_key=True, max_length=32)
    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="hand_ins")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="hand_ins")
    number = models.PositiveIntegerField()
    attempt = models.JSONField(default=dict)
    packed = models.BooleanField(default=False)
    hints = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=16, default=QUEUED)
    progress = models.FloatField(default=0.0)
    points = models.PositiveIntegerField(default=0)
    grade = models.JSONField(null=True)
    error = models.JSONField(null=True)
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True)

    class Meta:
        app_label = "people"
        ordering = ("created", "id")
        constraints = [models.UniqueConstraint(fields=("seat", "task", "number"), name="one_hand_in_a_number")]

    def __str__(self) -> str:
        return f"hand-in {self.number} of {self.seat_id}: {self.state}"


class Poll(models.Model):
    """A question for a whole class; its states stand in `web.people.polls`."""

    classroom = models.ForeignKey(Classroom, on_delete=models.CASCADE, related_name="polls")
    question = models.CharField(max_length=100)
    state = models.CharField(max_length=16, default=OPEN)
    opened = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "people"
        ordering = ("id",)

    def __str__(self) -> str:
        return f"poll {self.question} of {self.classroom_id}"


class Vote(models.Model):
    """What a student has answered to a poll, and its grade."""

    poll = models.ForeignKey(Poll, on_delete=models.CASCADE, related_name="votes")
    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="votes")
    answer = models.JSONField()
    grade = models.CharField(max_length=16)

    class Meta:
        app_label = "people"
        constraints = [models.UniqueConstraint(fields=("poll", "seat"), name="one_vote_a_poll")]

    def __str__(self) -> str:
        return f"vote of {self.seat_id} in {self.poll_id}"
