"""Hidden cases, misconceptions and sound variants of `reward_kl_frontier`."""
