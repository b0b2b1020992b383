"""Hidden cases, misconceptions and sound variants of `optimal_policy`."""
