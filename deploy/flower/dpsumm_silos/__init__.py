"""The Flower app of curator and owners; all of it is in `dpsumm.flower`."""
