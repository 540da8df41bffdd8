"""Addressed randomness: every random decision is a pure function of where it is made, never of what came before.

Philox4x64-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"), vectorised over keys. A key is a
64-bit hash of an address such as (seed, base item, condition, draw); `lots` of a key equal
`numpy.random.Philox(key=[key, STREAM]).random_raw`.
"""

import hashlib

import numpy as np

from evaluator.types import UInt64s

STREAM = 0x6D6F7270686F7264  # "morphord": the second key word, so that other users of Philox share no stream with us
_MULTIPLIERS = (np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157))
_WEYL = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B))
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def address(*parts: str | int) -> int:
    """A 64-bit hash of an address; parts are kept apart, so ("ab", "c") and ("a", "bc") differ."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else b"#%d" % part
        digest.update(b"%d:" % len(encoded))
        digest.update(encoded)
    return int.from_bytes(digest.digest(), "little")


def mix(keys: UInt64s, part: int) -> UInt64s:
    """Keys combined with one more part of their address, element by element (the splitmix64 finaliser)."""
    with np.errstate(over="ignore"):
        mixed = keys ^ (np.uint64(part & 0xFFFFFFFFFFFFFFFF) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1))
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


def _multiply(a: np.uint64, b: UInt64s) -> tuple[UInt64s, UInt64s]:
    """High and low 64 bits of a * b."""
    a_low, a_high = a & _LOW, a >> _HALF
    b_low, b_high = b & _LOW, b >> _HALF
    low = a_low * b_low
    middle = a_high * b_low + (low >> _HALF)
    cross = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (cross >> _HALF), a * b


def lots(keys: UInt64s, count: int) -> UInt64s:
    """`count` random 64-bit words for each key: (keys, count) uint64. A prefix never depends on `count`."""
    blocks = -(-count // 4)
    counter = np.arange(1, blocks + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        x0 = np.broadcast_to(counter, (len(keys), blocks)).copy()
        x1, x2, x3 = np.zeros_like(x0), np.zeros_like(x0), np.zeros_like(x0)
        k0, k1 = keys[:, None].copy(), np.uint64(STREAM)
        for _ in range(10):
            high0, low0 = _multiply(_MULTIPLIERS[0], x0)
            high1, low1 = _multiply(_MULTIPLIERS[1], x2)
            x0, x1, x2, x3 = high1 ^ x1 ^ k0, low1, high0 ^ x3 ^ k1, low0
            k0, k1 = k0 + _WEYL[0], k1 + _WEYL[1]
    return np.stack([x0, x1, x2, x3], axis=2).reshape(len(keys), blocks * 4)[:, :count]
