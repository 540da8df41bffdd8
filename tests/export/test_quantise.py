"""Eight-bit columns are the nearest ones; the quantiser of onnxruntime is the plain twin."""

import numpy as np
import pytest
from onnxruntime.quantization.quant_utils import QuantType, quantize_data

from export.quantise import BLOCK, quantise_columns


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (64, BLOCK + 5)])
def test_columns_come_back_within_half_a_level(shape: tuple[int, int]) -> None:
    weight = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    made = quantise_columns(weight)
    back = (made.weight.astype(np.float32) - made.zero) * made.scale
    assert np.abs(back - weight).max() <= 0.501 * made.scale.max() + 1e-7
    assert made.weight.shape == shape


def test_a_column_of_zeros_and_columns_of_one_sign() -> None:
    weight = np.array([[0, 1, -1], [0, 3, -2]], np.float32)
    made = quantise_columns(weight)
    back = (made.weight.astype(np.float32) - made.zero) * made.scale
    np.testing.assert_allclose(back, weight, atol=3 / 255)
    assert back[:, 0].tolist() == [0, 0]


def test_same_as_the_quantiser_of_onnxruntime_column_by_column() -> None:
    weight = np.random.default_rng(1).standard_normal((33, 9)).astype(np.float32)
    made = quantise_columns(weight)
    for column in range(9):
        zero, scale, values = quantize_data(weight[:, column], QuantType.QInt8.tensor_type, False)[-3:]
        assert np.isclose(float(np.ravel(scale)[0]), made.scale[column], rtol=1e-6)
        assert int(np.ravel(zero)[0]) == made.zero[column]
        assert np.abs(np.ravel(values).astype(int) - made.weight[:, column].astype(int)).max() <= 1
