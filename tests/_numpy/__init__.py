"""NumPy's vocabulary on traced values."""
