"""A tiny HTML builder in which nothing is markup unless it was built here: every plain string is escaped.

Chosen over a template engine because there is no template to forget an escape in, and no dependency.
"""

import html
from collections.abc import Iterable
from typing import TypeAlias

from evaluator.report.formats import well_formed

VOID = frozenset({"meta", "link", "br", "hr", "col", "input", "wbr"})


class Html(str):
    """Markup already built or trusted (our own CSS, script and SVG); anything else is text."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[Child] | None"
Attribute = str | int | bool | None


def text(value: str) -> Html:
    """`value` escaped for text and attributes."""
    return Html(html.escape(well_formed(value), quote=True))


def join(children: Iterable[Child]) -> Html:
    """The children one after the other, plain strings escaped, None left out."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(text(child))
        else:
            parts.append(join(child))
    return Html("".join(parts))


def el(tag: str, *children: Child, **attributes: Attribute) -> Html:
    """The element; `class_` is `class`, `data_x` is `data-x`; None and False drop an attribute, True writes it bare."""
    written = "".join(
        f" {_attribute_name(name)}" if value is True else f' {_attribute_name(name)}="{text(str(value))}"'
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in VOID:
        return Html(f"<{tag}{written}>")
    return Html(f"<{tag}{written}>{join(children)}</{tag}>")


def _attribute_name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")
