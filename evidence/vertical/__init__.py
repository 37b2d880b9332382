"""Experiments with synthetic rows: `make evidence-vertical DATA=folder`."""
