"""The way into a kernel: what it accepts, hands on and returns, and that it keeps no reference too many or too few."""

import contextlib
import gc
import sys
import threading
import weakref

import numpy as np
import pytest

from functad._compile.building.kernel import KernelError, compile_kernel
from functad._compile.entering import front
from functad._compile.entering.front import STATUS_ERRORS, Slot, make_caller
from functad._compile.entering.layout import layout_is_known


def call_slow(kernel, inputs, constants, outputs, scratch, args):
    """Through NumPy and ctypes, whatever the layout of objects."""
    return front._Plan(kernel, inputs, constants, outputs, scratch, {}).call_converting(*args)


WAYS = ["fast", "slow"] if layout_is_known() else ["slow"]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Every test runs on both ways: the machine code, and plain NumPy where the layout is not known."""
    if request.param == "slow":
        monkeypatch.setattr(front, "layout_is_known", lambda: False)
    return request.param


def array(*shape, dtype="f8"):
    return Slot(np.dtype(dtype), shape)


def scalar(dtype="f8"):
    return Slot(np.dtype(dtype), (), scalar=True)


def fallback(*args, **keywords):
    return "fallback", args, keywords


def copy_kernel(kind):
    source = "def copy(x, n, out):\n    for i in range(n):\n        out[i] = x[i]\n    return 0\n"
    return compile_kernel(source, "copy", [f"{kind}*", "i8", f"{kind}*"])


def copier(slot, out=None, hand_on=fallback):
    """A caller that returns its argument."""
    count = int(np.prod(slot.shape))
    return make_caller(copy_kernel(slot.kernel_kind[:-1]), [slot], [count], [out or slot], [], hand_on)


def ways_on(caller, *args):
    """Whether the arguments went to the fallback."""
    return isinstance(result := caller(*args), tuple) and result[0] == "fallback"


@pytest.mark.parametrize("shape", [(), (1,), (10,), (3, 4), (0,), (2, 0, 3), (1,) * 32, (2,) * 12])
@pytest.mark.usefixtures("way")
def test_arrays_of_every_shape(shape):
    x = np.random.default_rng(0).normal(size=shape)
    got = copier(array(*shape))(np.asarray(x))
    assert type(got) is np.ndarray
    assert got.shape == shape
    assert np.array_equal(got, x)
    assert got.base is None
    assert got.flags.owndata


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "c16", "c8", "?"])
@pytest.mark.usefixtures("way")
def test_arrays_and_scalars_of_every_dtype(dtype):
    x = np.array([0, 1, 1]).astype(dtype)
    assert np.array_equal(copier(array(3, dtype=dtype))(x), x)
    number = x.dtype.type(1)
    got = copier(scalar(dtype))(number)
    assert type(got) is x.dtype.type
    assert got == number
    assert ways_on(copier(array(3, dtype=dtype)), np.zeros(3, "f8" if dtype != "f8" else "f4"))


@pytest.mark.usefixtures("way")
def test_what_is_not_exactly_as_described_is_handed_on():
    x = np.arange(10.0)
    caller = copier(array(10))
    unaligned = np.frombuffer(bytes(81), np.uint8)[1:].view(np.float64)
    for given in (x[::-1], np.arange(20.0)[::2], x.astype("f4"), x.astype(">f8"), x.reshape(2, 5), x[:9], unaligned):
        assert ways_on(caller, given)
    for given in (list(x), 1.0, None, np.ma.array(x), np.float64(1.0), x.view(type("Sub", (np.ndarray,), {}))):
        assert ways_on(caller, given)
    assert caller() == ("fallback", (), {})
    assert ways_on(caller, x, x)
    assert caller(x=1) == ("fallback", (), {"x": 1})
    assert caller(1, y=2) == ("fallback", (1,), {"y": 2})


@pytest.mark.usefixtures("way")
def test_scalars_accept_pythons_numbers():
    for given in (1.5, 3, np.float64(2.5), -1, 2**53 + 1):
        got = copier(scalar())(given)
        assert type(got) is np.float64
        assert got == float(given)
    for given in (True, 10**400, np.float32(1), 1j, "1", np.array(1.0)):
        assert ways_on(copier(scalar()), given)
    assert copier(scalar("f4"))(0.1) == np.float32(0.1)
    assert copier(scalar("f4"))(7) == np.float32(7)
    assert copier(scalar("c16"))(1 + 2j) == 1 + 2j
    for given in (True, np.float64(1), 1j):
        assert ways_on(copier(scalar("f4")), given)
    assert ways_on(copier(scalar("c8")), 1 + 2j)
    assert copier(scalar("?"))(True) is np.True_
    assert copier(scalar("?"))(False) is np.False_
    assert ways_on(copier(scalar("?")), 1)


@pytest.mark.usefixtures("way")
def test_integers_that_do_not_fit_are_handed_on():
    for dtype in ("i8", "i4", "i2", "i1", "u4", "u2", "u1"):
        info = np.iinfo(dtype)
        caller = copier(scalar(dtype))
        for given in (info.min, info.max, -1 if info.min else 1):
            assert caller(given) == given
        for given in (info.min - 1, info.max + 1, 10**30, -(10**30), 1.0, True):
            assert ways_on(caller, given)
    assert copier(scalar("u8"))(5) == 5
    assert ways_on(copier(scalar("u8")), -1)


@pytest.mark.usefixtures("way")
def test_a_scalar_array_is_not_a_scalar():
    got = copier(array())(np.array(2.0))
    assert type(got) is np.ndarray
    assert got == 2.0
    assert ways_on(copier(array()), 2.0)
    assert ways_on(copier(array()), np.float64(2.0))
    assert type(copier(array(), scalar())(np.array(2.0))) is np.float64


@pytest.mark.usefixtures("way")
def test_an_exception_of_the_fallback_comes_through():
    with pytest.raises(ZeroDivisionError):
        copier(array(2), hand_on=lambda *args: 1 / 0)("no array")


def many_kernel(inputs, outputs, scratch, constants):
    """Outputs get the sum of the inputs' first elements and the constants, by way of every scratch array, and their position."""
    names = [f"{letter}{k}" for letter, n in zip("xcos", (inputs, constants, outputs, scratch), strict=True) for k in range(n)]
    lines = ["total = 0.0"]
    lines += [f"total = total + x{k}[0]" for k in range(inputs)] + [f"total = total + c{k}" for k in range(constants)]
    for k in range(scratch):
        lines += [f"for i in range({k + 1}):", f"    s{k}[i] = total", f"total = s{k}[{k}]"]
    lines += [f"o{k}[0] = total + {k}.0" for k in range(outputs)]
    source = f"def many({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in [*lines, "return 0"])
    kinds = ["f8*"] * inputs + ["i8"] * constants + ["f8*"] * (outputs + scratch)
    return compile_kernel(source, "many", kinds)


@pytest.mark.parametrize(("inputs", "outputs", "scratch", "constants"), [(0, 1, 0, 0), (1, 0, 0, 0), (2, 3, 2, 1), (70, 66, 65, 64)])
@pytest.mark.usefixtures("way")
def test_any_number_of_everything(inputs, outputs, scratch, constants):
    kernel = many_kernel(inputs, outputs, scratch, constants)
    spare = [array(k + 1) for k in range(scratch)]
    numbers = list(range(constants))
    caller = make_caller(kernel, [array(1)] * inputs, numbers, [scalar()] * outputs, spare, None)
    total = float(inputs + sum(numbers))
    expected = tuple(total + k for k in range(outputs))
    got = caller(*[np.ones(1)] * inputs)
    assert got == (expected[0] if outputs == 1 else expected)
    assert call_slow(kernel, [array(1)] * inputs, numbers, [scalar()] * outputs, spare, [np.ones(1)] * inputs) == got


def test_more_words_than_the_fast_way_takes(monkeypatch):
    monkeypatch.setattr(front, "MOST_WORDS", 3)
    caller = make_caller(many_kernel(2, 3, 2, 1), [array(1)] * 2, [4], [scalar()] * 3, [array(1), array(2)], fallback)
    assert caller(np.ones(1), np.ones(1)) == (6.0, 7.0, 8.0)
    assert ways_on(caller, 1, 2)


@pytest.mark.usefixtures("way")
def test_large_scratch_is_not_kept():
    count = front.KEPT_SCRATCH // 8 + 1
    source = """
def turn(x, n, out, s):
    for i in range(n):
        s[i] = x[i]
    for i in range(n):
        out[i] = s[n - 1 - i]
    return 0
"""
    kernel = compile_kernel(source, "turn", ["f8*", "i8", "f8*", "f8*"])
    caller = make_caller(kernel, [array(count)], [count], [array(count)], [array(count)], fallback)
    x = np.arange(count, dtype="f8")
    assert np.array_equal(caller(x), x[::-1])


@pytest.mark.usefixtures("way")
def test_bound_inputs_are_given_once():
    source = "def line(a, x, b, out):\n    out[0] = a[0] * x[0] + b[0]\n    return 0\n"
    kernel = compile_kernel(source, "line", ["f8*"] * 4)
    slope, shift = np.array(3.0), np.array([0.5])
    gone = weakref.ref(shift)
    caller = make_caller(kernel, [scalar(), scalar(), array(1)], [], [scalar()], [], fallback, bound={0: slope, 2: shift})
    del slope, shift
    gc.collect()
    assert gone() is not None
    assert caller(2.0) == 6.5
    assert ways_on(caller, 1.0, 2.0)
    del caller
    gc.collect()
    assert gone() is None


@pytest.mark.usefixtures("way")
def test_results_are_fresh():
    x = np.arange(10.0)
    caller = copier(array(10))
    first, second = caller(x), caller(x)
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, x)
    first[:] = 0
    assert np.array_equal(second, x)


def status_kernel():
    source = "def check(x, out):\n    out[0] = x[0]\n    if x[0] > 0:\n        return x[0]\n    return 0\n"
    return compile_kernel(source, "check", ["i8*", "i8*"])


@pytest.mark.usefixtures("way")
def test_a_status_raises(monkeypatch):
    caller = make_caller(status_kernel(), [scalar("i8")], [], [array(dtype="i8")], [], fallback)
    assert caller(-4) == -4
    with pytest.raises(IndexError, match="out of bounds"):
        caller(1)
    with pytest.raises(KernelError, match="status 77"):
        caller(77)
    monkeypatch.setitem(STATUS_ERRORS, 78, lambda kernel: ZeroDivisionError(kernel.name))
    with pytest.raises(ZeroDivisionError, match="check"):
        caller(78)


@pytest.mark.usefixtures("way")
def test_doubt_is_settled_before_anyone_sees_it():
    kernel = compile_kernel("def wave(x, out):\n    out[0] = sin_f8(x[0])\n    return 0\n", "wave", ["f8*", "f8*"])
    caller = make_caller(kernel, [scalar()], [], [scalar()], [], fallback)
    for x in (0.5, 1e15, 1e300, 1.0):
        assert np.isclose(caller(x), np.sin(x), rtol=1e-15)


@pytest.mark.usefixtures("way")
def test_an_allocation_that_fails_raises():
    kernel = compile_kernel("def nothing(x, a, b):\n    return 0\n", "nothing", ["f8*"] * 3)
    caller = make_caller(kernel, [scalar()], [], [array(3), array(2**58)], [], fallback)
    with pytest.raises((MemoryError, ValueError)):
        caller(1.0)
    caller = make_caller(kernel, [scalar()], [], [array(3)], [array(2**58)], fallback)
    with pytest.raises((MemoryError, ValueError)):
        caller(1.0)


def test_a_plan_that_does_not_fit_the_kernel_is_refused():
    with pytest.raises(KernelError, match="does not take"):
        make_caller(copy_kernel("f8"), [array(3, dtype="f4")], [3], [array(3)], [], None)
    with pytest.raises(ValueError, match="no shape"):
        make_caller(copy_kernel("f8"), [Slot(np.dtype("f8"), (3,), scalar=True)], [3], [array(3)], [], None)


@pytest.mark.usefixtures("way")
def test_without_a_fallback_arguments_are_converted_or_refused():
    caller = copier(array(3), hand_on=None)
    x = np.arange(3.0)
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float64)
    for given in (x, x.astype(">f8"), np.arange(6.0)[::2] / 2, unaligned):
        assert np.array_equal(caller(given), x)
    with pytest.raises(ValueError, match="shape"):
        caller(np.ones(4))
    with pytest.raises(TypeError, match="dtype"):
        caller(np.ones(3, "f4"))
    with pytest.raises(TypeError, match="1 arguments"):
        caller(x, x)
    assert copier(array(), hand_on=None)(2) == 2.0
    assert copier(scalar(), hand_on=None)(np.float64(2)) == 2.0
    with pytest.raises(TypeError, match="dtype"):
        copier(scalar("i8"), hand_on=None)(1.5)


def test_the_slow_call_converts():
    kernel = copy_kernel("f8")
    x = np.arange(6.0).reshape(2, 3)
    got = call_slow(kernel, [array(3, 2)], [6], [array(3, 2)], [], [x.T])
    assert np.array_equal(got, x.T)
    with pytest.raises(TypeError, match="1 arguments"):
        call_slow(kernel, [array(6)], [6], [array(6)], [], [])


def test_no_reference_is_lost_or_kept():
    x, small = np.linspace(0.0, 1.0, 10), 1.3
    vector, number = copier(array(10)), copier(scalar())
    pair = make_caller(many_kernel(1, 2, 1, 0), [array(10)], [], [scalar(), array(1)], [array(1)], fallback)
    status = make_caller(status_kernel(), [scalar("i8")], [], [array(dtype="i8")], [], fallback)
    watched = [x, small, x.dtype, np.dtype("i8"), None, np.ndarray, fallback, vector, number, (), 0, 1]

    def once():
        vector(x), number(small), number(3), pair(x), vector(x[::2]), number(10**400), vector(x=x), status(-5)
        with contextlib.suppress(IndexError):
            status(1)

    once()
    gc.collect()
    before = [sys.getrefcount(each) for each in watched]
    blocks = sys.getallocatedblocks()
    for _ in range(2000):
        once()
    gc.collect()
    changes = [abs(a - b) for a, b in zip(before, map(sys.getrefcount, watched), strict=True)]
    assert max(changes) < 100, changes
    assert abs(sys.getallocatedblocks() - blocks) < 500


@pytest.mark.usefixtures("way")
def test_a_caller_in_a_cycle_is_collected():
    class Owner:
        def slow(self, *args):
            return self, args

    owner = Owner()
    owner.caller = make_caller(copy_kernel("f8"), [array(2)], [2], [array(2)], [], owner.slow)
    assert owner.caller("x") == (owner, ("x",))
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("release_gil", [False, True])
@pytest.mark.usefixtures("way")
def test_threads_share_a_caller(release_gil):
    count = 2000
    source = (
        "def through(x, n, out, s):\n    for i in range(n):\n        s[i] = 2.0 * x[i]\n"
        "    for i in range(n):\n        out[i] = s[i] + 1.0\n    return 0\n"
    )
    kernel = compile_kernel(source, "through", ["f8*", "i8", "f8*", "f8*"])
    caller = make_caller(kernel, [array(count)], [count], [array(count)], [array(count)], fallback, release_gil=release_gil)
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).normal(size=count)
        expected = 2.0 * x + 1.0
        for _ in range(300):
            if not np.array_equal(caller(x), expected):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.usefixtures("way")
def test_a_number_that_must_be_of_python_or_of_numpy():
    for weak, given, other in ((True, 1.5, np.float64(1.5)), (False, np.float64(1.5), 1.5)):
        caller = make_caller(many_kernel(1, 1, 0, 0), [Slot(np.dtype("f8"), (), True, weak)], [], [scalar()], [], lambda *args: "other")
        assert caller(given) != "other"
        assert caller(other) == "other"
