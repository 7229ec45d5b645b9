"""Every operation, declared once.  Importing this package fills the registry."""

from functad._primitives import cumulative as cumulative
from functad._primitives import index as index
from functad._primitives import reduce as reduce
from functad._primitives import sort as sort
