"""U7: contrast of every text and mark in both themes, hues apart under colour deficiencies, nothing by colour alone."""

import re
from importlib import resources

import numpy as np
import pytest

from evaluator.report import palette
from evaluator.report.examples import OUTCOMES_IN_WORDS

THEMES = {"light": palette.LIGHT, "dark": palette.DARK}

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB
DEFICIENCIES = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(colour: str, matrix: list[list[float]]) -> np.ndarray:
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(matrix) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    f = np.cbrt(xyz / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("name", THEMES)
def test_text_is_readable(name: str) -> None:
    theme = THEMES[name]
    for ink in ("ink", "soft", "blue", "verm"):
        for ground in ("paper", "wash"):
            assert palette.contrast(theme[ink], theme[ground]) >= 4.5, (ink, ground)
    assert palette.contrast(theme["paper"], theme["blue"]) >= 4.5  # the mask's pill


@pytest.mark.parametrize("name", THEMES)
def test_marks_stand_out(name: str) -> None:
    theme = THEMES[name]
    for mark in (
        theme["mark"],
        palette.BLUE,
        palette.VERMILLION,
        palette.GREEN,
        palette.PURPLE,
        palette.GREY,
        theme["line"],
    ):
        assert palette.contrast(mark, theme["paper"]) >= 3.0, mark


@pytest.mark.parametrize("name", THEMES)
def test_heat_text_is_readable_on_every_shade(name: str) -> None:
    for _, ground, ink in palette.heat_rules(THEMES[name]):
        assert palette.contrast(ground, ink) >= 4.5


@pytest.mark.parametrize("kind", DEFICIENCIES)
def test_the_hues_stay_apart_for_everyone(kind: str) -> None:
    seen = {c: lab(c, DEFICIENCIES[kind]) for c in (palette.BLUE, palette.VERMILLION, palette.GREEN, palette.PURPLE)}
    assert float(np.linalg.norm(seen[palette.BLUE] - seen[palette.VERMILLION])) >= 90
    colours = list(seen)
    distances = [np.linalg.norm(seen[a] - seen[b]) for i, a in enumerate(colours) for b in colours[i + 1 :]]
    assert min(distances) >= 15


def test_the_scales_are_fixed_and_clipped() -> None:
    assert [palette.sequential_class(v) for v in (-0.2, 0, 0.5, 1, 1.4)] == ["b0", "b0", "b10", "b20", "b20"]
    assert [palette.diverging_class(v) for v in (-2, -0.25, 0, 0.5)] == ["v20", "v10", "b0", "b20"]


def test_every_outcome_has_a_glyph_and_words() -> None:
    assert {glyph for glyph, _ in OUTCOMES_IN_WORDS.values()} == {"✓", "✗"}
    assert all(said.startswith("right" if glyph == "✓" else "wrong") for glyph, said in OUTCOMES_IN_WORDS.values())


def test_the_stylesheet_loads_nothing() -> None:
    sheet = resources.files("evaluator.report").joinpath("style.css").read_text(encoding="utf-8")
    assert not re.search(r"url\(|@import|@font-face", sheet)
    colours = set(re.findall(r"(?<=[:\s])#[0-9a-fA-F]{3,6}\b", re.sub(r'\[[a-z]+="#\w+"\]', "", sheet)))
    assert not colours, "colours belong in palette.py, where their contrast is tested"
