"""What `grader verify` proves, one kind of proof per module.

`structure`: groups, weights, hints and hidden cases are as they must be, read from the course alone. `lessons`: what
a lesson states is what is judged. `runs`: references, stubs, misconceptions and sound variants are graded.
`killmatrix`: shows what was seen.
"""
