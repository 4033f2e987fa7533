"""Quizzes: questions whose answers a run decides, graded at once, with the moment of the run that proves them.

```yaml
quiz: durability                     # a track of lessons, a part of the glossary (`1-cluster`), a text (`basics-isr`)
questions:
  - question: who-has-them           # its name, the only one of this name
    lesson: acks-1                   # whose run is looked at ...
    course: fork                     # ... in one of its variants, or in its other course
    ask: {en: ..., ko: ...}
    choices:                         # one of these ways to answer:
      - {text: {en: ..., ko: ...}, right: {receipt.lost: 0}}         # the run decides, by expectations of a scenario
      - {text: {en: ..., ko: ...}, right: true}                      # or the text is right, and `holds` says what of
    number: {of: receipt.lost, near: 20}                             # the run shows it; near: in percent
    broker: {of: leader_of.orders-0}                                 # a broker to click; -1 is nobody
    order: [{text: {en: ..., ko: ...}, event: leader_elected, step: 1}, ...]     # in the order of the run
    setting: {name: acks, value: all}                                # to be typed as code: `acks=all`
    holds: {receipt.lost: 0}         # what must be so in the run, or the question is wrong
    proof: {event: leader_elected, where: {topic: orders}, step: 1}  # without it the lesson's own moment
    why: {en: ..., ko: ...}          # told with the grade
```
The prediction of a lesson is its first question: it stands in the lesson and nowhere else. No answer stands in a file
of questions: `python -m lab.quizzes` runs every lesson that is asked about and writes what it finds into
`answers.json`; a test holds that file against the runs. So a grade costs nothing, and cannot say what no run has shown.

| module | |
|---|---|
| `questions` | one question, checked |
| `reading` | the files; the questions of a lesson, of a heading |
| `deciding` | what a run answers, and where in it that is seen |
| `recorded` | the answers as they were found, and the command that finds them |
| `grading` | an answer that somebody gives |
"""
