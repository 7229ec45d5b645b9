"""Edge cases that users of other libraries have asked about."""
