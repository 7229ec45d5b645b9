"""Edge cases of differentiation that users of other libraries have asked about, with the mathematically right answer.

`code` defines f.  kind: grad -> grad(f)(*args), jacobian -> jacobian(f)(*args), value -> f(*args), error -> must raise.  Shapes match exactly.
`accept`: other right answers (subgradient or triangle conventions); `expected_dtype`: the result has it too; `or_error`: an exception is right as
well, a wrong value is not; `convention`: the value is a convention; `hard`: most libraries get it wrong; `needs`: a module, bound to SP.
"""

import numpy as np

CASES = [
    dict(
        id="norm_sq_at_zero",
        source="jax-ml/jax#4177, jax-ml/jax#21723, HIPS/autograd#183, HIPS/autograd#617",
        category="nan-at-singular",
        code="""
def f(x):
    return np.linalg.norm(x)**2
""",
        args=[np.array([0.0, 0.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([0.0, 0.0], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        note="Why: f = x.x, gradient 2x.",
    ),
    dict(
        id="norm_rows_one_zero_row",
        source="jax-ml/jax#3058",
        category="nan-at-singular",
        code="""
def f(x):
    return np.sum(np.linalg.norm(x, axis=1))
""",
        args=[np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[0.6, 0.8], [0.0, 0.0]], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        convention=True,
        note="Why: row 0 is smooth, row 1 takes the 0 subgradient.",
    ),
    dict(
        id="where_sqrt_unused_at_zero",
        source="jax-ml/jax#5798",
        category="nan-at-singular",
        code="""
def f(x):
    return np.where(x < 1.0, x, np.sqrt(x))
""",
        args=[np.array(0.0, dtype=np.float64)],
        kind="grad",
        expected=np.array(1.0, dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        note="Why: the selected branch is x.",
    ),
    dict(
        id="where_sqrt_inactive_array",
        source="pytorch/pytorch#187297, tinygrad/tinygrad#12409",
        category="nan-at-singular",
        code="""
def f(x):
    return np.sum(np.where(x > 0, np.sqrt(x), x))
""",
        args=[np.array([-1.0, -4.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([1.0, 1.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="where_sinc_by_hand",
        source='JAX FAQ "gradients contain NaN where using where" (docs.jax.dev/en/latest/faq.html)',
        category="nan-at-singular",
        code="""
def f(x):
    return np.where(x == 0, 1.0, np.sin(x)/x)
""",
        args=[np.array(0.0, dtype=np.float64)],
        kind="grad",
        expected=np.array(0.0, dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        note="Why: sin(x)/x is even: 0 at 0; the selected branch is constant.",
    ),
    dict(
        id="abs_at_zero",
        source="jax-ml/jax#37820, jax-ml/jax#10515",
        category="nan-at-singular",
        code="""
def f(x):
    return np.abs(x)
""",
        args=[np.array(0.0, dtype=np.float64)],
        kind="grad",
        expected=np.array(0.0, dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        convention=True,
        accept=[np.array(1.0, dtype=np.float64), np.array(-1.0, dtype=np.float64)],
        note="Why: subgradient interval [-1,1]; sign(0)=0 is the symmetric choice.",
    ),
    dict(
        id="relu_maximum_at_zero",
        source="jax-ml/jax#37821",
        category="nan-at-singular",
        code="""
def f(x):
    return np.maximum(x, 0.0)
""",
        args=[np.array(0.0, dtype=np.float64)],
        kind="grad",
        expected=np.array(0.5, dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        convention=True,
        accept=[np.array(0.0, dtype=np.float64), np.array(1.0, dtype=np.float64)],
        note="Why: subgradient interval [0,1].",
    ),
    dict(
        id="std_of_constant",
        source="jax-ml/jax#11716, pytorch/pytorch#4320",
        category="nan-at-singular",
        code="""
def f(x):
    return np.std(x)
""",
        args=[np.array([1.0, 1.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([0.0, 0.0], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        convention=True,
        note="Why: 0 is the minimum-norm subgradient (and the central difference).",
    ),
    dict(
        id="norm_homogeneity",
        source="jax-ml/jax#26248",
        category="nan-at-singular",
        code="""
def f(a):
    return np.linalg.norm(a*np.zeros(2))
""",
        args=[np.array(1.3, dtype=np.float64)],
        kind="grad",
        expected=np.array(0.0, dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        note="Why: norm(a*0)=0 for every a.",
    ),
    dict(
        id="sinc_at_zero",
        source="jax-ml/jax#6936, jax-ml/jax PR#1722",
        category="nan-at-singular",
        code="""
def f(x):
    return np.sinc(x)
""",
        args=[np.array(0.0, dtype=np.float64)],
        kind="grad",
        expected=np.array(0.0, dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="hypot_at_zero",
        source="JuliaDiff/ForwardDiff.jl PR#669, jax-ml/jax PR#4893",
        category="nan-at-singular",
        code="""
def f(x):
    return np.hypot(x, 0.0)
""",
        args=[np.array(0.0, dtype=np.float64)],
        kind="grad",
        expected=np.array(0.0, dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        convention=True,
        accept=[np.array(1.0, dtype=np.float64), np.array(0.5, dtype=np.float64), np.array(-1.0, dtype=np.float64)],
        note="Why: hypot(x,0)=|x|: any value in [-1,1] is a subgradient, NaN is not.",
    ),
    dict(
        id="pow_int_array_exponent_at_zero",
        source="jax-ml/jax#14397",
        category="power",
        code="""
def f(x):
    return np.sum(x**np.arange(3))
""",
        args=[np.array(0.0, dtype=np.float64)],
        kind="grad",
        expected=np.array(1.0, dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        note="Why: 1 + x + x^2.",
    ),
    dict(
        id="pow_zero_exponent_at_zero",
        source="pytorch/pytorch#8940, jax-ml/jax PR#12041",
        category="power",
        code="""
def f(x):
    return np.sum(x**0.0)
""",
        args=[np.array([0.0, 1.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([0.0, 0.0], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        note="Why: x**0 is constant 1.",
    ),
    dict(
        id="zero_base_wrt_exponent",
        source="pytorch/pytorch#27134, ml-explore/mlx#628, JuliaDiff/ForwardDiff.jl PR#414",
        category="power",
        code="""
def f(b):
    return np.sum(np.array([0., 2.])**b)
""",
        args=[np.array([1.0, 1.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([0.0, 1.3862943611198906], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        note="Why: 0**b is 0 for all b>0.",
    ),
    dict(
        id="pow_second_derivative_exponent_one",
        source="JuliaDiff/ForwardDiff.jl PR#331, FluxML/Zygote.jl#1036, JuliaDiff/Diffractor.jl#26",
        category="power",
        code="""
def f(x):
    return grad(grad(lambda t: t**1.0))(x)
""",
        args=[np.array(0.0, dtype=np.float64)],
        kind="value",
        expected=np.array(0.0, dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="pow_negative_base_float_exponent",
        source="pytorch/pytorch#76483, tensorflow/tfjs#346",
        category="power",
        code="""
def f(x):
    return np.sum(x**3.0)
""",
        args=[np.array([-2.0, -1.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([12.0, 3.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="reciprocal_at_zero_no_exception",
        source="numba/numba#1256, numba/numba#8743",
        category="power",
        code="""
def f(x):
    return np.sum(1.0/x)
""",
        args=[np.array([0.0, 2.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([-np.inf, -0.25], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        note="Why: NumPy semantics: -1/x**2 -> -inf with at most a RuntimeWarning, never ZeroDivisionError.",
    ),
    dict(
        id="prod_one_zero",
        source="HIPS/autograd#93, HIPS/autograd#378, pytorch/pytorch#773, tinygrad/tinygrad PR#17404",
        category="prod-cumprod",
        code="""
def f(x):
    return np.prod(x)
""",
        args=[np.array([0.0, 2.0, 3.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([6.0, 0.0, 0.0], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="prod_axis_mixed_zeros",
        source="tracel-ai/burn#5533, FluxML/Flux.jl PR#334",
        category="prod-cumprod",
        code="""
def f(x):
    return np.sum(np.prod(x, axis=1)*np.array([1., 10., 100.]))
""",
        args=[np.array([[0.0, 2.0], [3.0, 4.0], [0.0, 0.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[2.0, 0.0], [40.0, 30.0], [0.0, 0.0]], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="prod_hessian_two_zeros",
        source="own probe; cf. HIPS/autograd#93",
        category="prod-cumprod",
        code="""
def f(x):
    return hessian(np.prod)(x)
""",
        args=[np.array([0.0, 0.0, 3.0], dtype=np.float64)],
        kind="value",
        expected=np.array([[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="cumprod_one_zero",
        source="pymc-devs/pytensor PR#1911/#1956, tensorflow/tensorflow#3862, tracel-ai/burn#3864, jax-ml/jax#2542",
        category="prod-cumprod",
        code="""
def f(x):
    return np.sum(np.cumprod(x))
""",
        args=[np.array([2.0, 0.0, 3.0, 4.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([1.0, 32.0, 0.0, 0.0], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="logsumexp_by_hand_with_neginf",
        source="jax-ml/jax#1624, jax-ml/jax#6811",
        category="reductions",
        code="""
def f(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))
""",
        args=[np.array([-np.inf, 0.0, 1.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([0.0, 0.2689414213699951, 0.7310585786300049], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        note="Why: softmax.",
    ),
    dict(
        id="logaddexp_neginf_const",
        source="jax-ml/jax#1624",
        category="reductions",
        code="""
def f(x):
    return np.logaddexp(-np.inf, x)
""",
        args=[np.array(1.0, dtype=np.float64)],
        kind="grad",
        expected=np.array(1.0, dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="logsumexp_b_zero",
        source="jax-ml/jax#22398, jax-ml/jax#37633, jax-ml/jax PR#37729",
        category="reductions",
        code="""
def f(x):
    return SP.logsumexp(np.zeros(3), b=x)
""",
        args=[np.array([2.0, 0.0, 5.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([0.14285714285714285, 0.14285714285714285, 0.14285714285714285], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        needs="scipy.special",
        note="Why: log(sum(x)): 1/7 for every entry.",
    ),
    dict(
        id="nanmean_of_square",
        source="jax-ml/jax#9040",
        category="reductions",
        code="""
def f(x):
    return np.nanmean(x**2)
""",
        args=[np.array([np.nan, 1.0, 2.0, 3.0, 4.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([0.0, 0.5, 1.0, 1.5, 2.0], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        note="Why: the nan entry is excluded from the mean.",
    ),
    dict(
        id="nansum_of_square",
        source="jax-ml/jax#9040",
        category="reductions",
        code="""
def f(x):
    return np.nansum(x**2)
""",
        args=[np.array([1.0, np.nan], dtype=np.float64)],
        kind="grad",
        expected=np.array([2.0, 0.0], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="mean_where_kwarg",
        source="own probe (silent in autograd 1.9.1)",
        category="reductions",
        code="""
def f(x):
    return np.mean(x**2, where=np.array([True, False, True]))
""",
        args=[np.array([1.0, 2.0, 3.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([1.0, 0.0, 3.0], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="var_tuple_axis_ddof",
        source="own regression (no report found); family HIPS/autograd#519",
        category="reductions",
        code="""
def f(x):
    return np.sum(np.var(x, axis=(0, -1), ddof=1, keepdims=True)*np.array([1., 2.])[None, :, None])
""",
        args=[np.array([[[0.0, 1.0], [4.0, 9.0]], [[16.0, 25.0], [36.0, 49.0]]], dtype=np.float64)],
        kind="grad",
        expected=np.array(
            [
                [[-7.0, -6.333333333333333], [-27.333333333333332, -20.666666666666664]],
                [[3.6666666666666665, 9.666666666666666], [15.333333333333332, 32.666666666666664]],
            ],
            dtype=np.float64,
        ),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="det_singular_2x2",
        source="jax-ml/jax#2380, HIPS/autograd#549, pytorch/pytorch#104675, tensorflow/tensorflow#119477",
        category="linalg",
        code="""
def f(x):
    return np.linalg.det(x)
""",
        args=[np.array([[1.0, 2.0], [2.0, 4.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[4.0, -2.0], [-2.0, 1.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        note="Why: transposed adjugate.",
    ),
    dict(
        id="det_1x1_zero",
        source="pytorch/pytorch#80761",
        category="linalg",
        code="""
def f(x):
    return np.linalg.det(x)
""",
        args=[np.array([[0.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[1.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="det_rank2_3x3",
        source="jax-ml/jax#2380",
        category="linalg",
        code="""
def f(x):
    return np.linalg.det(x)
""",
        args=[np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[-3.0, 6.0, -3.0], [6.0, -12.0, 6.0], [-3.0, 6.0, -3.0]], dtype=np.float64),
        rtol=1e-05,
        atol=0.0,
    ),
    dict(
        id="eigh_values_only_degenerate",
        source="HIPS/autograd PR#527",
        category="linalg",
        code="""
def f(x):
    return np.sum(np.linalg.eigh(x)[0]**2)
""",
        args=[np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 5.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 10.0]], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        note="Why: = trace(X@X), gradient 2X.",
    ),
    dict(
        id="svdvals_of_identity",
        source="jax-ml/jax#2311",
        category="linalg",
        code="""
def f(x):
    return np.sum(np.linalg.svd(x, compute_uv=False))
""",
        args=[np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="solve_vector_rhs",
        source="HIPS/autograd PR#23",
        category="linalg",
        code="""
def f(x):
    return np.dot(np.array([1., 2.]), np.linalg.solve(x, np.array([1., 2.])))
""",
        args=[np.array([[4.0, 2.0], [1.0, 3.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[0.010000000000000002, -0.06999999999999999], [0.060000000000000026, -0.4200000000000001]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="norm_axis_keepdims",
        source="own probe (silent wrong shape in autograd 1.9.1); cf. HIPS/autograd#42",
        category="linalg",
        code="""
def f(x):
    return np.sum(x/np.linalg.norm(x, axis=-1, keepdims=True)*np.array([[1., 0.], [0., 2.]]))
""",
        args=[np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[0.35777087639996635, -0.17888543819998312], [-0.192, 0.14400000000000002]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="norm_p15_zero_entry",
        source="own probe (autograd 1.9.1 gives NaN); cf. HIPS/autograd#42",
        category="linalg",
        code="""
def f(x):
    return np.linalg.norm(x, 1.5)
""",
        args=[np.array([1.0, 0.0, 2.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([0.6392340078652325, 0.0, 0.9040134034531215], dtype=np.float64),
        rtol=0.0001,
        atol=1e-12,
    ),
    dict(
        id="einsum_trace",
        source="HIPS/autograd#115",
        category="linalg",
        code="""
def f(x):
    return np.einsum("ii->", x)
""",
        args=[np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="einsum_naked_sums",
        source="HIPS/autograd#242",
        category="linalg",
        code="""
def f(x):
    return np.sum(np.einsum("abcd->bd", x)**2)
""",
        args=[
            np.array(
                [
                    [[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]],
                    [[[8.0, 9.0], [10.0, 11.0]], [[12.0, 13.0], [14.0, 15.0]]],
                    [[[16.0, 17.0], [18.0, 19.0]], [[20.0, 21.0], [22.0, 23.0]]],
                ],
                dtype=np.float64,
            )
        ],
        kind="grad",
        expected=np.array(
            [
                [[[108.0, 120.0], [108.0, 120.0]], [[156.0, 168.0], [156.0, 168.0]]],
                [[[108.0, 120.0], [108.0, 120.0]], [[156.0, 168.0], [156.0, 168.0]]],
                [[[108.0, 120.0], [108.0, 120.0]], [[156.0, 168.0], [156.0, 168.0]]],
            ],
            dtype=np.float64,
        ),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="outer_of_matrices",
        source="own probe (autograd 1.9.1 raises)",
        category="linalg",
        code="""
def f(x):
    return np.sum(np.outer(x, x)*np.arange(16.).reshape(4, 4)**2)
""",
        args=[np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[850.0, 1340.0], [2170.0, 3340.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="transpose_negative_axes",
        source="own probe (silent wrong shape in autograd 1.9.1); cf. HIPS/autograd#350",
        category="shape-ops",
        code="""
def f(x):
    return np.sum(np.transpose(x, (-1, 0, 1))*np.arange(6.).reshape(3, 1, 2)**2)
""",
        args=[np.array([[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[[0.0, 4.0, 16.0], [1.0, 9.0, 25.0]]], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="repeat_negative_axis",
        source="own probe (silent wrong values in autograd 1.9.1); cf. HIPS/autograd PR#61",
        category="shape-ops",
        code="""
def f(x):
    return np.sum(np.repeat(x, 2, axis=-1)*np.arange(8.).reshape(2, 4)**2)
""",
        args=[np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[1.0, 13.0], [41.0, 85.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="tile_scalar_reps_on_matrix",
        source="own probe (silent wrong values in autograd 1.9.1); cf. HIPS/autograd PR#61",
        category="shape-ops",
        code="""
def f(x):
    return np.sum(np.tile(x, 2)*np.arange(8.).reshape(2, 4)**2)
""",
        args=[np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[4.0, 10.0], [52.0, 74.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="concatenate_axis_none",
        source="own probe (autograd 1.9.1 raises)",
        category="shape-ops",
        code="""
def f(x):
    return np.sum(np.concatenate([x, 2*x], axis=None)*np.arange(8.)**2)
""",
        args=[np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[32.0, 51.0], [76.0, 107.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="pad_default_mode",
        source="HIPS/autograd#441",
        category="shape-ops",
        code="""
def f(x):
    return np.sum(np.pad(x, ((1, 1),))**2)
""",
        args=[np.array([1.0, 2.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([2.0, 4.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="roll_tuple_shift",
        source="own probe (autograd 1.9.1 raises)",
        category="shape-ops",
        code="""
def f(x):
    return np.sum(np.roll(x, (1, 1), axis=(0, 1))*np.array([[1., 4], [2, 5]]))
""",
        args=[np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[5.0, 2.0], [4.0, 1.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="sort_2d_axis0",
        source="HIPS/autograd#788 (gap list)",
        category="shape-ops",
        code="""
def f(x):
    return np.sum(np.sort(x, axis=0)*np.array([[1., 4], [2, 5]]))
""",
        args=[np.array([[3.0, 2.0], [1.0, 4.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[2.0, 4.0], [1.0, 5.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="fancy_index_duplicates",
        source="pytorch/pytorch#1528, pytorch/pytorch#1631, pymc-devs/pytensor PR#2242",
        category="indexing",
        code="""
def f(x):
    return np.sum(x[np.array([0, 0, 1])]*np.array([1., 10., 100.]))
""",
        args=[np.array([1.0, 2.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([11.0, 100.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="fancy_index_2d_negative_dups",
        source="pytorch/pytorch#1631",
        category="indexing",
        code="""
def f(x):
    return np.sum(x[np.array([0, 0, -2]), np.array([1, -1, 1])]*np.array([1., 10., 100.]))
""",
        args=[np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[0.0, 111.0], [0.0, 0.0]], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="boolean_mask_reused_new_count",
        source="jax-ml/jax#4418, jax-ml/jax#2765 (shape depends on values)",
        category="indexing",
        code="""
def f(a, b):
    g = grad(lambda x: np.sum(x[x > 1.5]**2))
    return np.stack([g(a), g(b)])
""",
        args=[np.array([1.0, 2.0, 3.0], dtype=np.float64), np.array([5.0, 1.0, 1.0], dtype=np.float64)],
        kind="value",
        expected=np.array([[0.0, 4.0, 6.0], [10.0, 0.0, 0.0]], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        note="Why: same shape and dtype, different mask population on the second call.",
    ),
    dict(
        id="setitem_into_zeros",
        source="HIPS/autograd#58, HIPS/autograd#177, HIPS/autograd#559",
        category="indexing",
        code="""
def f(A):
    B = np.zeros((4, 4))
    B[:2, :2] = A
    return np.sum(B**2)
""",
        args=[np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float64)],
        kind="grad",
        expected=np.array([[2.0, 4.0], [6.0, 8.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        or_error=True,
        note="Why: either the right gradient or an immediate clear error, never a silent zero.",
    ),
    dict(
        id="iadd_into_constant_array",
        source="HIPS/autograd#177, HIPS/autograd#77",
        category="indexing",
        code="""
def f(x):
    y = onp.zeros(2)
    y += x
    return np.sum(y**2)
""",
        args=[np.array([1.0, 2.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([2.0, 4.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        or_error=True,
    ),
    dict(
        id="iadd_aliased_name",
        source="own probe (jax, autograd silently rebind the name)",
        category="indexing",
        code="""
def f(x):
    y = x*1.0
    z = y
    y += x
    return np.sum(z)
""",
        args=[np.array([1.0, 2.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([2.0, 2.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        or_error=True,
        note="Why: in NumPy z is y, so f = sum(2x); libraries without __iadd__ rebind y and return 1.",
    ),
    dict(
        id="tanh_second_derivative_saturated",
        source="EnzymeAD/Enzyme#2836, HIPS/autograd PR#319",
        category="numerics",
        code="""
def f(x):
    return grad(grad(np.tanh))(x)
""",
        args=[np.array(1000.0, dtype=np.float64)],
        kind="value",
        expected=np.array(0.0, dtype=np.float64),
        rtol=1e-06,
        atol=1e-300,
        note="Why: -2 tanh sech^2 underflows to 0.",
    ),
    dict(
        id="sigmoid_naive_saturated",
        source="jax-ml/jax#777",
        category="numerics",
        code="""
def f(x):
    return np.sum(1/(1 + np.exp(-x)))
""",
        args=[np.array([-1000.0, 0.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([0.0, 0.25], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        hard=True,
        note="Why: true value underflows to 0; inf*0 gives NaN.",
    ),
    dict(
        id="arcsinh_large",
        source="jax-ml/jax#40634",
        category="numerics",
        code="""
def f(x):
    return np.sum(np.arcsinh(x))
""",
        args=[np.array([1e160, -1e160, 1.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([1e-160, 1e-160, 0.7071067811865476], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        note="Why: x*x overflows; 1/hypot(1,x) does not.",
    ),
    dict(
        id="hypot_large",
        source="own probe (jax 0.10.2 returns 1.06066); cf. jax-ml/jax PR#4893",
        category="numerics",
        code="""
def f(x):
    return np.hypot(x, 1e200)
""",
        args=[np.array(1e200, dtype=np.float64)],
        kind="grad",
        expected=np.array(0.7071067811865476, dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        note="Why: x/hypot(x,y).",
    ),
    dict(
        id="arctan2_large",
        source="own probe (jax 0, autograd OverflowError); cf. jax-ml/jax#40634",
        category="numerics",
        code="""
def f(x):
    return np.arctan2(x, 1e200)
""",
        args=[np.array(1e200, dtype=np.float64)],
        kind="grad",
        expected=np.array(5e-201, dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        note="Why: y/(x^2+y^2) = 1/(2e200).",
    ),
    dict(
        id="clip_wrt_bounds",
        source="Theano/Theano PR#1010, own probe (autograd 1.9.1 raises)",
        category="numerics",
        code="""
def f(x):
    return np.sum(np.clip(np.array([2., 3.]), x, 10.0))
""",
        args=[np.array([1.0, 5.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([0.0, 1.0], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="rfft_odd_length",
        source="HIPS/autograd PR#192 (odd length NotImplementedError), pymc-devs/pytensor#969",
        category="numerics",
        code="""
def f(x):
    return np.sum(np.abs(np.fft.rfft(x))**2*np.array([1., 3.]))
""",
        args=[np.array([1.0, 2.0, 4.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([2.0, 11.0, 29.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="complex_abs_squared_at_zero",
        source="jax-ml/jax#10515",
        category="numerics",
        code="""
def f(x):
    return np.abs(x + 0j)**2
""",
        args=[np.array(0.0, dtype=np.float64)],
        kind="grad",
        expected=np.array(0.0, dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="perturbation_confusion_classic",
        source="denizyuret/AutoGrad.jl PR#75",
        category="transform-semantics",
        code="""
def f(x):
    return grad(lambda u: u*grad(lambda y: u + y)(u))(x)
""",
        args=[np.array(5.0, dtype=np.float64)],
        kind="value",
        expected=np.array(1.0, dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="grad_of_constant",
        source='pytorch/pytorch#15532 ("does not require grad" error)',
        category="transform-semantics",
        code="""
def f(x):
    return np.sum(np.ones(2))
""",
        args=[np.array([1.0, 1.0, 1.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([0.0, 0.0, 0.0], dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
    ),
    dict(
        id="closure_scalar_changes",
        source="jax-ml/jax#1426",
        category="transform-semantics",
        code="""
def f(x):
    c = {'a': 10.0}
    g = grad(lambda v: np.sum(v[:2]**2 + v[2:]**3)*c['a'])
    first = g(x)
    c['a'] = 20.0
    return np.stack([first, g(x)])
""",
        args=[np.array([2.0, 3.0, 4.0, 5.0], dtype=np.float64)],
        kind="value",
        expected=np.array([[40.0, 60.0, 480.0, 750.0], [80.0, 120.0, 960.0, 1500.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        note="Why: a gradient cached inside grad() must notice changed closed-over values.",
    ),
    dict(
        id="closure_array_mutated_between_calls",
        source="jax-ml/jax#1426, numba/numba PR#8359 (globals frozen)",
        category="transform-semantics",
        code="""
def f(x):
    w = onp.array([1., 2.])
    g = grad(lambda v: np.sum(w*v))
    a = onp.array(g(x))
    w[:] = 7.0
    return np.stack([a, g(x)])
""",
        args=[np.array([1.0, 1.0], dtype=np.float64)],
        kind="value",
        expected=np.array([[1.0, 2.0], [7.0, 7.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="same_code_different_default",
        source="numba/numba PR#6406 (defaults not in hash)",
        category="transform-semantics",
        code="""
def f(x):
    return np.stack([grad(lambda t, k=k: t*k)(x) for k in (1.0, 2.0, 3.0)])
""",
        args=[np.array(1.0, dtype=np.float64)],
        kind="value",
        expected=np.array([1.0, 2.0, 3.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="while_loop_newton",
        source="jax-ml/jax#2469, jax-ml/jax#8239",
        category="transform-semantics",
        code="""
def f(a):
    x = a
    while abs(x*x - a) > 1e-12:
        x = 0.5*(x + a/x)
    return x
""",
        args=[np.array(2.0, dtype=np.float64)],
        kind="grad",
        expected=np.array(0.35355339059327373, dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        note="Why: d sqrt(a)/da.",
    ),
    dict(
        id="input_mutated_before_pullback",
        source="rsokl/MyGrad 2.0 memory guard (docs/source/changes.rst), NVIDIA/warp#1350, pytorch/pytorch PR#6597",
        category="transform-semantics",
        code="""
def f(x0):
    x = onp.array(x0)
    out, pull = vjp(lambda v: np.sum(v**2), x)
    x[:] = 0.0
    r = pull(onp.array(1.0)[()])
    return r[0] if isinstance(r, tuple) else r
""",
        args=[np.array([1.0, 2.0, 3.0], dtype=np.float64)],
        kind="value",
        expected=np.array([2.0, 4.0, 6.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        or_error=True,
        note="Why: gradient at the recorded point; a read-only lock (MyGrad) or version-counter error (torch) is also fine.",
    ),
    dict(
        id="gradients_do_not_share_memory",
        source="own probe; jax-ml/jax#37830 (aliasing family)",
        category="transform-semantics",
        code="""
def f(a, b):
    ga, gb = grad(lambda t: np.sum(t[0] + t[1]))((a, b))
    ga = np.asarray(ga)
    ga[0] = 100.0
    return gb
""",
        args=[np.array([1.0, 1.0], dtype=np.float64), np.array([1.0, 1.0], dtype=np.float64)],
        kind="value",
        expected=np.array([1.0, 1.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        or_error=True,
    ),
    dict(
        id="pullback_does_not_alias_cotangent",
        source="own probe (jax 0.10.2 and autograd 1.9.1 both alias)",
        category="transform-semantics",
        code="""
def f(x):
    out, pull = vjp(lambda v: v, x)
    ct = onp.ones(3)
    r = pull(ct)
    r = r[0] if isinstance(r, tuple) else r
    try:
        r[0] = 100.0
    except Exception:
        pass
    return ct
""",
        args=[np.array([1.0, 1.0, 1.0], dtype=np.float64)],
        kind="value",
        expected=np.array([1.0, 1.0, 1.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="pullback_twice",
        source="own regression (torch and advect consume the tape on first use)",
        category="transform-semantics",
        code="""
def f(x):
    out, pull = vjp(lambda v: np.sum(v**2), x)
    u = lambda r: r[0] if isinstance(r, tuple) else r
    return np.stack([u(pull(onp.array(1.0)[()])), u(pull(onp.array(1.0)[()]))])
""",
        args=[np.array([1.0, 2.0], dtype=np.float64)],
        kind="value",
        expected=np.array([[2.0, 4.0], [2.0, 4.0]], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="float32_preserved",
        source="HIPS/autograd#163, HIPS/autograd PR#199",
        category="transform-semantics",
        code="""
def f(x):
    return np.sum(x**2)
""",
        args=[np.array([1.0, 2.0], dtype=np.float32)],
        kind="grad",
        expected=np.array([2.0, 4.0], dtype=np.float32),
        rtol=1e-06,
        atol=0.0,
        expected_dtype="float32",
    ),
    dict(
        id="float64_input_not_downcast",
        source="jax-ml/jax#216, jax-ml/jax#1333, jax-ml/jax#652, scipy/scipy#18730",
        category="transform-semantics",
        code="""
def f(x):
    return np.sum((x + 1e-12) - x)*0 + np.sum(x**2)
""",
        args=[np.array([1.000000000001, 2.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([2.000000000002, 4.0], dtype=np.float64),
        rtol=1e-15,
        atol=0.0,
        expected_dtype="float64",
        note="Why: default jax (x64 off) returns float32.",
    ),
    dict(
        id="int_array_input",
        source="jax-ml/jax#424",
        category="transform-semantics",
        code="""
def f(x):
    return np.sum(x*0.5)
""",
        args=[np.array([1, 2], dtype=np.int64)],
        kind="grad",
        expected=np.array([0.5, 0.5], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        or_error=True,
        note="Why: truncating the gradient to the integer dtype would silently give 0.",
    ),
    dict(
        id="none_output",
        source='own probe (autograd: "Can\'t find vector space for value None")',
        category="transform-semantics",
        code="""
def f(x):
    return None
""",
        args=[np.array(1.0, dtype=np.float64)],
        kind="error",
        expected="Exception",
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="none_leaf_in_params",
        source="own probe (autograd 1.9.1 TypeError)",
        category="transform-semantics",
        code="""
def f(a):
    return grad(lambda p: p['a']**2)({'a': a, 'b': None})['a']
""",
        args=[np.array(2.0, dtype=np.float64)],
        kind="value",
        expected=np.array(4.0, dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="keyword_and_default_args",
        source="own regression",
        category="transform-semantics",
        code="""
def f(x):
    g = grad(lambda x, b=3.0: x*b)
    return np.stack([g(x), g(x, b=5.0)])
""",
        args=[np.array(2.0, dtype=np.float64)],
        kind="value",
        expected=np.array([3.0, 5.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="threads_nested_grad",
        source="own probe (autograd 1.9.1 returns wrong values); cf. HIPS/autograd PR#659, pytorch/pytorch#67887",
        category="transform-semantics",
        code="""
def f(x):
    import threading
    bad = []
    def work(i):
        for _ in range(200):
            r = float(grad(lambda u: u*grad(lambda y: u*y*y)(float(i)))(2.0))
            if abs(r - 8*i) > 1e-9:
                bad.append((i, r))
    ts = [threading.Thread(target=work, args=(i,)) for i in range(1, 9)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    return float(len(bad))
""",
        args=[np.array(0.0, dtype=np.float64)],
        kind="value",
        expected=np.array(0.0, dtype=np.float64),
        rtol=1e-06,
        atol=1e-12,
        note="Why: d/du[u * 2ui] = 4ui = 8i at u=2.",
    ),
    dict(
        id="long_python_loop",
        source="jax-ml/jax#2777, numba/numba#6504, numba/numba#9323",
        category="transform-semantics",
        code="""
def f(x):
    for _ in range(2000):
        x = x + 0.001*np.sin(x)
    return x
""",
        args=[np.array(1.0, dtype=np.float64)],
        kind="grad",
        expected=np.array(0.5550066408170734, dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
        note="Why: 2000 unrolled steps: must finish in seconds, no recursion error.",
    ),
    dict(
        id="readonly_input",
        source="own regression",
        category="transform-semantics",
        code="""
def f(x):
    x = onp.array(x)
    x.flags.writeable = False
    return grad(lambda v: np.sum(v**2))(x)
""",
        args=[np.array([1.0, 2.0], dtype=np.float64)],
        kind="value",
        expected=np.array([2.0, 4.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
    dict(
        id="iterate_and_unpack_traced",
        source="own regression",
        category="transform-semantics",
        code="""
def f(x):
    a, b, c = x
    return sum(t**2 for t in x) + a*b*c
""",
        args=[np.array([1.0, 2.0, 3.0], dtype=np.float64)],
        kind="grad",
        expected=np.array([8.0, 7.0, 8.0], dtype=np.float64),
        rtol=1e-06,
        atol=0.0,
    ),
]
