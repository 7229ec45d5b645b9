"""What a program is and how one is recorded; knows of no operation by name."""
