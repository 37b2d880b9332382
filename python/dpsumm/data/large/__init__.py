"""Data larger than memory: one pass over a file, or shards on several machines."""
