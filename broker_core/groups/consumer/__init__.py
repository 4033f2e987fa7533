"""The next generation of consumer groups (KIP-848): the coordinator assigns, members converge one by one.

In the classic protocol everybody stops, meets and starts again. Here each member talks to the coordinator alone, with
one request, ConsumerGroupHeartbeat; three numbers say how far everybody is:

    group epoch        grows when a member comes, goes or wants other topics, or when its topics have changed
    assignment epoch   the group epoch for which the target assignment was computed
    member epoch       the assignment epoch that this member has reached

    member A           member B            group epoch / assignment epoch
    epoch 2: 0 1 2 3                       2 / 2
                       joins               3 / 3   target: A 0 1, B 2 3
    2, gives back 2 3  3, waits
    3: 0 1                                         A has said that it no longer owns 2 and 3
                       3: 2 3                      so they are free; A has read 0 and 1 all the time

| module | what |
|---|---|
| `member` | what is known of a member, and the three states of its way to the target |
| `records` | the six kinds of records in `__consumer_offsets` |
| `group` | the group: changed by the replay of those records alone |
| `assignors` | uniform and range: who should have what |
| `pattern` | regular expressions in linear time |
| `subscriptions` | which topics a group wants, and what they look like now |
| `reconciliation` | the next step of one member |
| `checks` | what a heartbeat may not say |
| `decisions` | heartbeat, leave, expiry: state -> records and an answer |
| `handler`, `settings` | the API, and the timers |
| `conversion` | a classic group becomes one of these, and one of these a classic one |
| `classic_members` | members of the classic protocol in such a group |
| `describing` | what tools and viewers are shown |
"""
