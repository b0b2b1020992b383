"""Hidden tests of `kl_penalized_rewards`: cases, wrong and sound functions. Never in what learners receive."""
