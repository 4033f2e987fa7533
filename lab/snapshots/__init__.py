"""Snapshots of a world, so that a fork or a step back need not begin at the beginning.

A run is executed again from its recorded inputs at five to ten times its own pace: an hour takes minutes. So an open
run has a shelf of snapshots, and going to a moment is: take the last snapshot before it, execute what is left.

```
inputs.bin   |--------------------------------------------------|        the lab's own thread writes it
snapshots         s1        s2        s3        s4                       another process makes them (`maker`)
a fork at x                           s3----x                            restored, and executed from there
```

| module | has |
|---|---|
| `bulk` | what logs hold, written once and shared by all snapshots that hold it, mapped into memory |
| `course` | a world with its onlookers as bytes, and back |
| `shelf` | the directory: which there are, which is next, how many may stay |
| `maker` | the process that executes the run again beside the lab, and puts snapshots on the shelf |
| `ending` | the one at the end of a run that was made for a page, which is left beside it |
| `keeper` | the lab's side: when the maker has to go on, and what it may be trusted with |

* The lab's own thread pays nothing: the maker re-executes the *recorded inputs*, in memory storage, in a process of its
  own that ends when it has caught up. No file of a live disk is copied, referred to or held.
* A snapshot is sound because the maker compares the journal that it makes with the recorded one, byte for byte, up to
  each snapshot. Where they differ it stops: a fork then begins at the beginning, as without snapshots.
* A snapshot belongs to one version of this program and to one life of a lab: `shelf` signs it with a key that only this
  process and its maker know, for reading a pickle from a stranger's directory would be running his program. They are
  no part of what a run leaves: nobody reads those of an earlier life, and a branch that ends gives its own back.
* Room is bounded in bytes. What is too much goes from the older half, every second one, so distances grow with age.
"""
