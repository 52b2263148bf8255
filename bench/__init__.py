"""Benchmarks: `python -m bench` builds the C++ runner and prints every table (README.md)."""
