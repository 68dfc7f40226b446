"""The joint test of the calibrations: it rejects what is off, lets stand what is not, and says which."""

import random

from tests.holm import binomial_p, holm, normal_p


def test_p_values_are_those_of_the_tables() -> None:
    """The normal and the binomial p-value are the textbook's."""
    assert abs(normal_p(1.959964, 0, 1) - 0.05) < 1e-6
    assert abs(binomial_p(0, 10, 0.5) - 2 / 1024) < 1e-12
    assert abs(binomial_p(9, 10, 0.5) - 22 / 1024) < 1e-12
    assert binomial_p(0, 5, 0.0) == 1
    assert binomial_p(1, 5, 0.0) == 0
    assert abs(binomial_p(10_300, 100_000, 0.1) - normal_p(10_300, 10_000, 94.868)) < 1e-4


def test_holm_steps_down() -> None:
    """The smallest p-value meets the level over all parts, the next over one part fewer, and the first that stands ends it."""
    assert holm({"a": 0.003, "b": 0.004, "c": 0.9}) == ["a", "b"]
    assert holm({"a": 0.004, "b": 0.0001, "c": 0.9}) == ["b", "a"]
    assert holm({"a": 0.006, "b": 0.0001, "c": 0.9}) == ["b"]
    assert holm({"a": 0.004, "b": 0.5, "c": 0.0101}) == []


def test_true_values_are_rejected_at_the_level() -> None:
    """Of 2,000 families of 20 true values about one in a hundred is rejected."""
    draw = random.Random(7)
    rejected = sum(bool(holm({str(part): normal_p(draw.gauss(0, 1), 0, 1) for part in range(20)})) for _ in range(2000))
    assert 5 <= rejected <= 40
