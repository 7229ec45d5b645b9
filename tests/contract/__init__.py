"""The contract that every primitive keeps, tried on the examples that it declares."""
