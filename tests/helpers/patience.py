"""How long tests wait for what must come: a process, an answer, a file."""

# Seconds. Long enough for a busy machine with a slow disk: who waits so long waits for ever.
PATIENCE = 600
