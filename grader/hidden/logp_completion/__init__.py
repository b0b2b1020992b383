"""Hidden tests of `logp_completion`: cases, wrong and sound functions. Never in what learners receive."""
