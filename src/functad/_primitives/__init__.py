"""Every operation, declared once.  Importing this package fills the registry."""
