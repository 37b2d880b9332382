"""Slow, obvious NumPy versions of the compiled kernels: the oracles of the tests."""
