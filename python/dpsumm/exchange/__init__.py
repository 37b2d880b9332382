"""How parties talk, whatever they compute: roles, messages as bytes, drivers, the journal."""
