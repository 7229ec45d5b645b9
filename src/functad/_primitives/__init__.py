"""Every operation, declared once.  Importing this package fills the registry."""

from functad._primitives import alive as alive
from functad._primitives import cond as cond
from functad._primitives import cumulative as cumulative
from functad._primitives import decompositions as decompositions
from functad._primitives import dot as dot
from functad._primitives import elementwise as elementwise
from functad._primitives import forms as forms
from functad._primitives import index as index
from functad._primitives import inner_programs as inner_programs
from functad._primitives import linalg as linalg
from functad._primitives import logic as logic
from functad._primitives import reduce as reduce
from functad._primitives import scan as scan
from functad._primitives import shape as shape
from functad._primitives import sort as sort
from functad._primitives import while_loop as while_loop
