"""Where learner code runs: a warm worker forks one confined child per submission."""
