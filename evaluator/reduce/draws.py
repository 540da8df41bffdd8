"""Accuracy of every seed and draw by itself: how far the numbers move when targets or permutations are drawn anew."""

import numpy as np

from evaluator.reduce.block import Block
from evaluator.reduce.cells import Row


def block_draws(block: Block) -> list[Row]:
    """One row per (model, condition, ±L, seed, draw): `n` base items of that seed, top-1 and top-5 over them."""
    rows = []
    seeds = np.unique(block.seed).tolist()
    of_seed = {seed: np.flatnonzero(block.seed == seed) for seed in seeds}
    for m, model in enumerate(block.models):
        for c, cell in enumerate(block.cells):
            slots = block.slots(cell)
            for seed in seeds:
                n = len(of_seed[seed])
                for slot, draw in zip(range(slots.start, slots.stop), block.draws[c], strict=True):
                    row: Row = {"model": model, "treebank": block.treebank, "language": block.language}
                    row |= {"condition": cell.condition, "lemma": cell.lemma, "seed": seed, "draw": draw, "n": n}
                    row["top1"] = int(block.hit1[m, slot][of_seed[seed]].sum(dtype=np.int64)) / n
                    row["top5"] = int(block.hit5[m, slot][of_seed[seed]].sum(dtype=np.int64)) / n
                    rows.append(row)
    return rows
