"""Every operation, declared once.  Importing this package fills the registry."""

from functad._primitives import cumulative as cumulative
from functad._primitives import reduce as reduce
