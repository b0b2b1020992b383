"""Hidden cases, misconceptions and sound variants of `dpo_grad`."""
