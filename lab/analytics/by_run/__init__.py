"""All questions about one run, answered by one task: a run is small, and a task costs less than a join.

Spark hands each task some runs (`sharing`); the task reads each file once, judges what is in it with plain Python, and
writes its rows of every table. `lab.analytics.history` and `answers` say the same in SQL, for runs that are too large
for one task; a test compares both, question by question and table by table.
"""
