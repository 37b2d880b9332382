"""Communication of parties: roles, messages as bytes, drivers, the journal."""
