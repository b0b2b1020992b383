"""Hidden cases, misconceptions and sound variants of `dpo_loss`."""
