"""The metrics as formulas over accuracies; arrays or floats. Prior work is named where it defines the same quantity.

All are over complete cases. A(x) is the share of base items whose gold is among the k best words in cell x, averaged
over draws; a gold that the pieces cannot express is a miss.
"""

import numpy as np

from evaluator.types import Bools, Float64s

FLOOR_HITS = 5
FLOOR_SHARE = 0.1


def drop(a_orig: Float64s, a_x: Float64s) -> Float64s:
    """D(x) = A(orig) − A(x): accuracy lost in x. D(c+L) is also measured from `orig` with forms."""
    return a_orig - a_x


def sensitivity(a_orig: Float64s, a_x: Float64s) -> Float64s:
    """S(x) = (A(orig) − A(x)) / A(orig) = 1 − A(x)/A(orig), in (−∞, 1]; NaN where A(orig) = 0.

    The share of what the model can do on `orig` that x takes away. S(c+L) is relative to `orig` with forms as well, so
    it is the loss from both at once, and S(orig+L) the loss from lemmas alone. Source: Feldman, Barak & Peng 2026.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(a_orig > 0, 1 - a_x / a_orig, np.nan)


def interaction(a_orig: Float64s, a_c: Float64s, a_orig_l: Float64s, a_c_l: Float64s) -> Float64s:
    """I(c) = D(c) + D(orig+L) − D(c+L) = A(orig) − A(c) − A(orig+L) + A(c+L).

    I > 0: the two losses together are smaller than their sum, so order and form are overlapping cues; I < 0:
    complementary cues. Source: I_full of Feldman, Barak & Peng 2026 (their text's relative variant is not used).
    """
    return a_orig - a_c - a_orig_l + a_c_l


def interaction_range(a_orig: float, a_c: float, a_orig_l: float) -> tuple[float, float]:
    """[A(orig) − A(c) − A(orig+L), the same + 1]: what I(c) can be given these three, as 0 ≤ A(c+L) ≤ 1.

    No pairing of hits makes it narrower: I depends on A(c+L) alone, and any share of hits can go with any others.
    I minus the lower end *is* A(c+L): where c+L has hardly a hit, I sits on that end whatever the cues are.
    """
    low = a_orig - a_c - a_orig_l
    return low, low + 1


def interaction_range_no_gain(a_orig: float, a_c: float, a_orig_l: float) -> tuple[float, float]:
    """[A(orig) − A(c) − A(orig+L), A(orig) − max(A(c), A(orig+L))]: the range if doing both helps over neither one.

    It assumes 0 ≤ A(c+L) ≤ min(A(c), A(orig+L)), which data can break. Its width, min(A(c), A(orig+L)), is the room
    that is left to see an interaction in.
    """
    return a_orig - a_c - a_orig_l, a_orig - max(a_c, a_orig_l)


def at_floor(accuracy: Float64s, reference: Float64s, n_base: int) -> Bools:
    """A(x)·n < 5 or A(x) < A(reference)/10: under 5 hits per draw, or under a tenth of `orig` in the same spelling.

    Below it, what A(x) could still lose is too little to tell an interaction from the lack of room for one.
    """
    # Hits are whole numbers over a few draws: the slack keeps 5 hits of 5 from failing by rounding.
    return np.asarray((accuracy * n_base < FLOOR_HITS - 1e-9) | (accuracy < FLOOR_SHARE * reference - 1e-12))
