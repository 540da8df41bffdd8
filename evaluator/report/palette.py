"""The few colours of the report and the shading of its heat cells, as numbers the tests can check for contrast.

Blue and vermillion (Okabe and Ito) stay far apart under every colour deficiency; no state is told by colour alone.
"""

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
GREY = "#767676"

LIGHT = {"paper": "#ffffff", "ink": "#1c1c1c", "soft": "#5c5c5c", "rule": "#d6d6d6", "line": "#8a8a8a",
         "wash": "#f5f5f2", "blue": "#00609a", "verm": "#a84800", "mid": "#f7f7f7", "mark": "#0072B2"}  # fmt: skip
DARK = {"paper": "#121212", "ink": "#e9e7e2", "soft": "#aaa8a3", "rule": "#3a3a3a", "line": "#7c7c7c",
        "wash": "#1c1c1c", "blue": "#6db6e4", "verm": "#f08c45", "mid": "#262626", "mark": "#3f97d3"}  # fmt: skip

STEPS = 20
"""Shades between nothing and full colour; 5 % each, so a shade never says more than its printed number."""
INTERACTION_SPAN = 0.5
"""|I| at which the diverging shade and the range bar end, the same in every report."""


def luminance(colour: str) -> float:
    """WCAG relative luminance of `#rrggbb`, 0 to 1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """WCAG contrast ratio of two colours, 1 to 21."""
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def blend(start: str, end: str, share: float) -> str:
    """The colour `share` of the way from `start` to `end`, in sRGB."""
    pairs = [(int(start[i : i + 2], 16), int(end[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def readable_on(colour: str) -> str:
    """Black or white, whichever contrasts more with `colour` (the winner is always ≥ 4.58)."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, colour))


def sequential_class(value: float) -> str:
    """CSS class of a value on the fixed 0–1 blue ramp: `b0` … `b20`."""
    return f"b{round(min(max(value, 0.0), 1.0) * STEPS)}"


def diverging_class(value: float) -> str:
    """CSS class of a value on the fixed ±`INTERACTION_SPAN` ramp: blue `b…` above zero, vermillion `v…` below."""
    step = round(min(abs(value) / INTERACTION_SPAN, 1.0) * STEPS)
    return f"{'v' if value < 0 else 'b'}{step}"


def heat_rules(theme: dict[str, str]) -> list[tuple[str, str, str]]:
    """(class, background, text colour) of every heat shade in a theme."""
    rules = []
    for letter, hue in (("b", BLUE), ("v", VERMILLION)):
        for step in range(STEPS + 1):
            shade = blend(theme["mid"], hue, step / STEPS)
            rules.append((f"{letter}{step}", shade, readable_on(shade)))
    return rules


def stylesheet_variables() -> str:
    """The themes and heat shades as CSS: light by default, dark where the reader's system asks for it."""
    return f"{_theme(LIGHT)}\n@media (prefers-color-scheme:dark){{{_theme(DARK)}}}\n@media print{{{_theme(LIGHT)}}}\n"


def _theme(theme: dict[str, str]) -> str:
    variables = ";".join(f"--{name}:{colour}" for name, colour in theme.items())
    heat = "".join(f".{name}{{background:{back};color:{ink}}}" for name, back, ink in heat_rules(theme))
    return f":root{{{variables}}}{heat}"
