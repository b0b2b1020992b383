"""What `grader verify` proves, one kind of proof per module.

`released`: a lesson builds, and its notebook is up to date. `structure`, `cases`, `hints`: groups, weights, hidden
cases and hints are as they must be, read from the course alone. `lessons`: what a lesson states is what is judged.
`references`, `misconceptions`, `sound`: what is graded, on a bench of `runs`. `killmatrix`: shows what was seen;
`places`: says in which file a defect is to be mended.
"""
