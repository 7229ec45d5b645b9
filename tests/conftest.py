"""What holds for every test: it leaves no trace open and no setting changed behind it."""

import numpy as np
import pytest

from functad._core.recorder import CURRENT


@pytest.fixture(autouse=True)
def state_restored():
    settings = np.geterr()
    assert CURRENT.get() is None
    yield
    assert CURRENT.get() is None, "a trace was left open"
    assert np.geterr() == settings
