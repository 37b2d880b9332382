"""Rare records: who finds them, with how many reads, and where nobody does."""
