"""What primitives refuse of the types of their operands: mistakes of rules, met as soon as an equation is recorded."""

import numpy as np
import pytest

from functad._core.recorder import stage
from functad._core.types import array_type
from functad._primitives import cumulative, linalg, logic, shape
from functad._primitives.linalg import MatrixShapeError
from functad._primitives.while_loop import while_loop
from functad.errors import ShapeMismatchError

F8 = np.dtype("f8")
ROW, SQUARE, WIDE = (array_type(s, F8) for s in ((3,), (3, 3), (2, 3)))
NUMBER = array_type((), F8)


def turning(x):
    body = stage(lambda c: [logic.convert(c, dtype=np.dtype("f4"))], [x.type])
    condition = stage(lambda c: [logic.less(c, c)], [x.type])
    return while_loop(x, condition=condition, body=body, condition_constants=0, body_constants=0)


@pytest.mark.parametrize(
    ("rule", "types", "kind", "text"),
    [
        (lambda x: shape.broadcast(x, shape=(2,), axes=(0,)), [ROW], ShapeMismatchError, r"\(3,\) cannot be broadcast to \(2,\)"),
        (lambda x: shape.reshape(x, shape=(4,)), [ROW], ShapeMismatchError, r"\(3,\) into shape \(4,\)"),
        (lambda x: shape.slice_(x, start=(1,), size=(3,), step=(1,)), [ROW], ShapeMismatchError, "beyond an axis of length 3"),
        (lambda x: shape.slice_(x, start=(0,), size=(2,), step=(3,)), [ROW], ShapeMismatchError, "beyond an axis of length 3"),
        (lambda x: cumulative.cumsum(x, axis=1, reverse=False), [ROW], ShapeMismatchError, "no axis 1"),
        (lambda a, b: cumulative.recurrence(a, b, axis=0, reverse=False), [ROW, WIDE], ShapeMismatchError, r"\(3,\), \(2, 3\)"),
        (lambda a, b: linalg.solve(a, b, strict=True), [SQUARE, WIDE], ShapeMismatchError, r"right-hand side of shape \(2, 3\)"),
        (lambda a, b: linalg.lstsq(a, b, cutoff=0.0), [WIDE, SQUARE], MatrixShapeError, r"right-hand side of shape \(3, 3\)"),
        (linalg.minors, [SQUARE, WIDE], ShapeMismatchError, r"\(3, 3\) along one of shape \(2, 3\)"),
        (turning, [NUMBER], ShapeMismatchError, "carry 0 of a while_loop starts as"),
    ],
)
def test_types_that_do_not_fit(rule, types, kind, text):
    with pytest.raises(kind, match=text):
        stage(lambda *xs: [rule(*xs)], types)
