"""Hidden cases, misconceptions and sound variants of `implicit_reward`."""
