"""People: classes, their students, what is handed out to them and what they hand in.

```
Classroom ABCD2345 --< Seat 7 "otter" (a user of Django's without a password)
        |                  |
        |--< Task ---------+--< Work     (when it was opened, how many hints were taken)
        |                  '--< HandIn   (an attempt, judged by the server)
        '--< Poll --< Vote  (a question for all, and what a student has answered)
```

| module | |
|---|---|
| `models` | the tables, in SQLite or PostgreSQL |
| `seats` | who sits behind a cookie: Django's sessions, asked by the guard |
| `classes` | a class is made, joined, looked at as a grid, exported, deleted |
| `handing` | a hand-in is taken: tries, deadline, what an attempt may do |
| `judging` | hand-ins in a queue, executed again by processes of their own |
| `polls` | a question for a whole class, and how it is answered |
| `leading` | what a teacher looks at, for those who follow him |
| `changes` | who waits for news of a class |

A teacher is whoever may do everything (`web.access`); who may ask for what stands in `web.rights`. Nobody gives an
e-mail address or a password: a student has a cookie, and a link that brings him back from another browser.
"""
