"""The public API is frozen as a list, and each name of it is documented: numpydoc sections, examples that run."""

import doctest
import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest

import functad as fd

# Adding or taking away a public name is a decision: change this list with it, and CHANGELOG.md.
NAMES = [
    "Program", "Tracer", "__version__", "cond", "errors", "evaluator", "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jit", "jvp",
    "linear_transpose", "linearize", "make_program", "scan", "show_source", "stop_gradient", "tree", "value_and_grad", "vjp", "vmap", "while_loop",
]  # fmt: skip
ERRORS = [
    "ConversionError", "EscapedTracerError", "FunctadError", "IntegerInputError", "KernelError", "MissingRuleError", "MutationError", "NoValueError",
    "NonScalarOutputError", "ShapeMismatchError", "TracedIndexError", "TreeMismatchError", "UnsupportedArgumentError",
    "UnsupportedFunctionError", "VerificationError",
]  # fmt: skip
DOORS = {
    "functad.testing": ["check_grads"],
    "functad.flatten_util": ["ravel_pytree"],
    "functad.scipy.integrate": ["cumulative_trapezoid", "simpson", "trapezoid"],
    "functad.scipy.ndimage": ["map_coordinates"],
    "functad.scipy.signal": ["convolve"],
}
# In these every other name is SciPy's.
OWN = {
    "functad.scipy.special": ["lambertw", "log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax", "spherical_jn"],
    "functad.scipy.linalg": [
        "block_diag", "cho_factor", "cho_solve", "cholesky", "det", "eigh", "expm", "inv", "solve", "solve_triangular", "toeplitz",
    ],
}  # fmt: skip
DISTRIBUTIONS = [
    "bernoulli", "beta", "binom", "cauchy", "dirichlet", "expon", "gamma", "geom", "laplace", "logistic", "lognorm", "multivariate_normal", "nbinom",
    "norm", "poisson", "t", "uniform",
]  # fmt: skip

FUNCTIONS = {f"functad.{name}": getattr(fd, name) for name in NAMES if inspect.isfunction(getattr(fd, name))}
FUNCTIONS |= {f"{door}.{name}": getattr(importlib.import_module(door), name) for door, names in (DOORS | OWN).items() for name in names}

# JAX's signatures: names of the parameters, in order.
SIGNATURES = {
    "grad": ["fun", "argnums", "has_aux"],
    "value_and_grad": ["fun", "argnums", "has_aux"],
    "jacobian": ["fun", "argnums", "has_aux"],
    "jacrev": ["fun", "argnums", "has_aux"],
    "jacfwd": ["fun", "argnums", "has_aux"],
    "hessian": ["fun", "argnums", "has_aux"],
    "vjp": ["fun", "primals", "has_aux"],
    "jvp": ["fun", "primals", "tangents", "has_aux"],
    "linearize": ["fun", "primals", "has_aux"],
    "linear_transpose": ["fun", "primals"],
    "hvp": ["fun", "primals", "tangents"],
    "vmap": ["fun", "in_axes", "out_axes"],
    "jit": ["fun", "static_argnums", "static_argnames"],
    "stop_gradient": ["x"],
    "make_program": ["fun"],
    "show_source": ["fun"],
    "cond": ["pred", "true_fun", "false_fun", "operands"],
    "scan": ["f", "init", "xs", "length", "reverse"],
    "while_loop": ["cond_fun", "body_fun", "init_val"],
}


def test_the_public_names_are_these():
    assert sorted(fd.__all__) == sorted(NAMES)
    assert [n for n in NAMES if not hasattr(fd, n)] == []
    assert sorted(fd.errors.__all__) == sorted(ERRORS)


@pytest.mark.parametrize("door", DOORS)
def test_the_other_doors_name_these(door):
    assert sorted(importlib.import_module(door).__all__) == sorted(DOORS[door])


@pytest.mark.parametrize("door", OWN)
def test_the_doors_to_scipy_replace_these(door):
    module, scipys = importlib.import_module(door), importlib.import_module(door.removeprefix("functad."))
    assert sorted(module._OWN) == sorted(OWN[door])
    assert set(module.__all__) == set(scipys.__all__)
    assert all(getattr(module, name) is getattr(scipys, name) for name in set(scipys.__all__) - set(OWN[door]))


def test_the_distributions_are_these():
    assert sorted(importlib.import_module("functad.scipy.stats").__all__) == DISTRIBUTIONS


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distribution_is_documented_in_numpydoc(name):
    distribution = getattr(importlib.import_module("functad.scipy.stats"), name)
    text = inspect.cleandoc(distribution.__doc__)
    assert {"Parameters", "Raises", "Notes", "Examples"} <= set(re.findall(r"^([A-Z][A-Za-z ]+)\n-+$", text, re.MULTILINE))
    assert all(shape in text.split("Raises\n")[0] for shape in getattr(distribution, "shapes", ()))


def test_nothing_else_is_public():
    """Names without an underscore that a user sees after `import functad`."""
    rooms = {module.name for module in pkgutil.iter_modules(fd.__path__)}
    assert {n for n in vars(fd) if not n.startswith("_")} - rooms - set(NAMES) == set()


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_jaxs(name):
    parameters = [p for p in inspect.signature(getattr(fd, name)).parameters if p not in ("holomorphic", "allow_int", "argnames")]
    assert parameters[: len(SIGNATURES[name])] == SIGNATURES[name]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_documented_in_numpydoc(name):
    function = FUNCTIONS[name]
    text = inspect.getdoc(function)
    sections = set(re.findall(r"^([A-Z][A-Za-z ]+)\n-+$", text, re.MULTILINE))
    assert {"Parameters", "Raises", "Examples"} <= sections
    assert sections & {"Returns", "Yields"}
    documented = text.split("Parameters\n")[1].split("Returns\n")[0]
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"\b{parameter}\b", documented), f"{parameter} is not described"
    assert ">>>" in text.split("Examples\n")[1]
    assert len(text.split("\n")[0]) <= 150
    assert text.split("\n")[0].endswith((".", ":"))


@pytest.mark.parametrize("name", [n for n in NAMES if inspect.isclass(getattr(fd, n))])
def test_class_is_documented(name):
    assert len(inspect.getdoc(getattr(fd, name))) > 40


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_annotated(name):
    function = FUNCTIONS[name]
    assert set(inspect.signature(function).parameters) <= set(inspect.get_annotations(function))
    assert "return" in inspect.get_annotations(function)


MODULES = [m.name for m in pkgutil.walk_packages(fd.__path__, "functad.")]


@pytest.mark.parametrize("name", ["functad", *MODULES])
def test_doctests(name):
    """All examples in docstrings, with NumPy's default print options."""
    module = importlib.import_module(name)
    with np.printoptions(legacy=False):
        found = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert fd.__version__ == version("functad")


def test_modules_on_demand_are_the_modules():
    for name in fd._ON_DEMAND:
        assert fd.__getattr__(name) is importlib.import_module(f"functad.{name}")
    with pytest.raises(AttributeError, match="no_such_name"):
        fd.no_such_name
