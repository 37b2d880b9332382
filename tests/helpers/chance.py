"""How often tests of chance may fail."""

# Chance that a statistical test fails although the law is right, for any seed.
FALSE_ALARM = 1e-6
