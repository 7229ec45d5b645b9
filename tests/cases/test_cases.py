"""No wrong value in the table of edge cases; a refusal is right only where it is listed here with its reason."""

import importlib

import numpy as np
import pytest

import functad as fd

from .table import CASES

# Not covered yet: refused with a cure.  Take a case off the list when its function comes.
REFUSED = {
    "logsumexp_b_zero": "scipy.special.logsumexp takes no traced values: functad.scipy's does",
}
assert {c["id"] for c in CASES} >= REFUSED.keys()


def outcome(case):
    """What the case computes: a value, or an exception."""
    space = dict(
        np=np, onp=np, grad=fd.grad, value_and_grad=fd.value_and_grad, jacobian=fd.jacobian, hessian=fd.hessian, vjp=fd.vjp, jvp=fd.jvp,
        maybe_jit=fd.jit,
    )  # fmt: skip
    if "needs" in case:
        space["SP"] = importlib.import_module(case["needs"])
    exec(case["code"], space)
    f = space["f"]
    args = [np.array(a) if isinstance(a, np.ndarray) else a for a in case["args"]]
    if case["kind"] == "value" or (case["kind"] == "error" and "vjp(" in case["code"]):
        return f(*args)
    return (fd.jacobian if case["kind"] == "jacobian" else fd.grad)(f)(*args)


def close(found, expected, rtol, atol):
    found, expected = np.asarray(found), np.asarray(expected)
    with np.errstate(all="ignore"):
        return found.shape == expected.shape and bool(np.all((found == expected) | (np.abs(found - expected) <= atol + rtol * np.abs(expected))))


# A recorded loop of thousands of equal steps is one long program: minutes to compile until such loops are rolled into a scan.
UNROLLED = {"long_python_loop"}
RUNS = [pytest.param(c, w, id=f"{c['id']}-{w}") for c in CASES for w in ("numpy", "kernel") if w == "numpy" or c["id"] not in UNROLLED]


@pytest.mark.parametrize(("case", "which"), RUNS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # some cases divide by zero in plain NumPy, outside of any trace
def test_case(case, which):
    with fd.evaluator(which):
        if case["id"] in REFUSED:
            with pytest.raises(fd.errors.FunctadError) as caught:
                outcome(case)
            assert isinstance(caught.value, fd.errors.UnsupportedFunctionError)
            return
        if case["kind"] == "error":
            with pytest.raises(Exception) as caught:  # any refusal will do, but not silence
                outcome(case)
            assert not isinstance(caught.value, AssertionError)
            return
        if case.get("or_error"):
            try:
                found = outcome(case)
            except fd.errors.FunctadError:
                return
        else:
            found = outcome(case)
    assert any(close(found, e, case["rtol"], case["atol"]) for e in [case["expected"], *case.get("accept", [])]), found
    if "expected_dtype" in case:
        assert np.asarray(found).dtype == case["expected_dtype"]


def test_the_table_is_whole():
    assert len(CASES) == len({c["id"] for c in CASES}) == 80


def test_logsumexp_with_a_factor_of_zero_is_right_with_functad_scipy():
    case = next(c for c in CASES if c["id"] == "logsumexp_b_zero")
    assert close(outcome({**case, "needs": "functad.scipy.special"}), case["expected"], case["rtol"], case["atol"])
