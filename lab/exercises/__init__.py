"""Exercises: a task, what may be changed, and goals that the run itself decides.

```yaml
exercise: lose-what-was-promised      # its name
title: {en: ..., ko: ...}
task: {en: ..., ko: ...}              # what is to be reached
subject: durability                   # the group of lessons that it belongs to
lesson: acks-1                        # optional: where the start comes from, and what is worth reading before
start: {cluster: {brokers: 3}, ...}   # a scenario, or what is different from the lesson's
levers:                               # what an attempt may do, and nothing else: `levers`
  set:
    acks: {client: producer-orders, setting: acks, choices: ["0", "1", "all"]}
    copies: {topic: orders, setting: min.insync.replicas, least: 1, most: 3}
  steps: {commands: [kill, delay_link], most: 3}
goals: {receipt.lost: ">= 1"}         # expectations of a scenario: all must be met ...
seeds: [1, 20]                        # ... under each of these seeds; without it under the start's
points: 10
tries: 5                              # how many are meant; nobody counts them yet
hints: [{text: {en: ..., ko: ...}, price: 2}]
solution: {set: {acks: "1"}, steps: [...]}
wrong: {set: {acks: all}, why: {en: ..., ko: ...}}
why: {en: ..., ko: ...}               # told when it is solved
```
An attempt is `{set: ..., steps: [...]}`. Put into the start it is a scenario like any other (`levers.document`): it
is run, leaves a directory, and can be verified and packed. What is graded is never what somebody says of a run but a
run that was executed here (`grading`); of one that is handed in, all must come out again byte for byte.

| module | |
|---|---|
| `reading` | the files, checked: every error names its place |
| `levers` | what an attempt may do; the scenario that it makes of the start; the attempt in a recorded run |
| `grading` | goals, seeds, points |
| `shown` | what the shell tells of it |
"""
