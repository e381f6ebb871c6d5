"""A model that all tests share: the built-in Ember, on the processor."""

import pytest

import inferno


@pytest.fixture(scope="session")
def model() -> inferno.Model:
    return inferno.Model(device="cpu", context=512)
