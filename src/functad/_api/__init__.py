"""The transforms as users meet them."""
