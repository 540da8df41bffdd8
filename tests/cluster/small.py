"""A treebank of twelve made-up sentences that a fake model can read."""

from pathlib import Path

WORDS = ["the", "old", "cat", "saw", "a", "small", "dog", "near", "our", "red", "house", "today"]


def write_treebank(folder: Path) -> Path:
    """The treebank's file, in `folder`."""
    path = folder / "xx_small-ud-test.conllu"
    path.write_text("".join(map(_sentence, range(12))), encoding="utf-8")
    return path


def _sentence(number: int) -> str:
    words = [WORDS[(number * 5 + i * 7) % len(WORDS)] for i in range(7)]
    lines = []
    for i, word in enumerate(words, 1):
        upos, head, deprel = ("NOUN", 0, "root") if i == 3 else ("ADJ", 3, "amod")
        lines.append(f"{i}\t{word}\t{word}\t{upos}\t_\t_\t{head}\t{deprel}\t_\t_")
    return "\n".join([f"# sent_id = {number}", f"# text = {' '.join(words)}", *lines]) + "\n\n"
