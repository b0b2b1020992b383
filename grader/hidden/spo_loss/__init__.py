"""Hidden tests of `spo_loss`: cases, wrong and sound functions. Never in what learners receive."""
