"""The data card: what is in a built data set, for people, with the header by which hub tools find the splits."""

from collections import Counter
from collections.abc import Sequence

from evaluator.cloze.audit import Check
from evaluator.cloze.dataset import CELLS, ClozeData, cell_split
from evaluator.cloze.tables import LanguageTable
from evaluator.report.formats import count, markdown

FIELDS = (
    ("prompt, gold", "what the model reads, what it must produce"),
    ("lemma, context, feats", "the prompt's parts"),
    ("phenomenon", "see the table above"),
    ("cell", "frequency stratum: lem_low or lem_high, form_low or form_high"),
    ("form_freq, lemma_other_freq", "counts in the corpus: of the form; of all other forms of its lemma together"),
    ("form_level, lemma_level", "low or high, the axes of cell"),
    ("person_number", "the verb's (3sg, 3pl, …); - where the treebank marks none"),
    ("verbclass", "as the language's table defines it; unknown without evidence"),
    ("resource", "form: UniMorph has the form; lemma: only the lemma; treebank: neither, or no UniMorph was given"),
    ("source_treebank, licence, sent_id", "where the sentence is from, and under which licence"),
    ("paradigm, paradigm_freq", "the lemma's known forms and their counts"),
)


def data_card(data: ClozeData, table: LanguageTable, checks: Sequence[Check]) -> str:
    """The card as Markdown."""
    build = data.build
    corpus = build["corpus"]
    parts = [
        _header(data, table),
        f"# Verb-inflection cloze, {table.name}",
        "A verb of a natural sentence is written as `[x]`. The prompt gives its lemma and its features but for one "
        "dimension; the sentence supplies that.\n\n    cloze lemma=<L> context=<sentence with [x]> feats=<feats> ->",
        "## Splits\n\n" + _grid(("split", "rows"), [(s, count(t.num_rows)) for s, t in data.splits.items()]),
        "## Phenomena\n\n"
        + _grid(
            ("phenomenon", "feats gives", "withheld", "the sentence must hold", "test rows"),
            _phenomena(data, table),
        ),
        "## Cells\n\n"
        f"Low below {table.threshold_per_million:g} per million of a corpus of {count(corpus['tokens'])} words, on two "
        "axes: form_freq, and lemma_other_freq, which leaves the form itself out. A word is a maximal run of letters "
        "and digits after NFC, as written; forms are looked up in lower case, so capitalised nouns do not count.\n\n"
        + _grid(("cell", "test rows"), [(c, count(data.splits[cell_split(c)].num_rows)) for c in CELLS]),
        "## Fields\n\n" + _grid(("field", "meaning"), FIELDS),
        "## Guarantees\n\n" + "\n".join(f"- {_mark(c)} {markdown(c.name)}: {markdown(c.detail)}" for c in checks),
        "## Sources and licences\n\n"
        + _grid(
            ("treebank", "licence", "sentences", "used"),
            [
                (t["code"], t["licence"], count(t["sentences"]), "yes" if t["used"] else "no")
                for t in build["treebanks"]
            ],
        )
        + "\n\nParadigms: "
        + (", ".join([*build["unimorph"], *build["lexicons"]]) or "no word list")
        + ", and the treebanks' own annotation. Each sentence stays under its treebank's licence.",
        "## Left out\n\n"
        + _grid(
            ("reason", "verbs"),
            [(k, count(v)) for k, v in [*build["verbs_left_out"].items(), *build["candidates_left_out"].items()]],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _header(data: ClozeData, table: LanguageTable) -> str:
    files = [f"  - split: {split}\n    path: {split}.parquet" for split in data.splits]
    licence = "cc-by-nc-sa-4.0" if any("NC" in t["licence"] for t in data.build["treebanks"] if t["used"]) else "other"
    head = ["---", f"language: {table.code}", f"license: {licence}", "configs:", f"- config_name: {table.code}"]
    return "\n".join([*head, "  data_files:", *files, "---"])


def _phenomena(data: ClozeData, table: LanguageTable) -> list[tuple[str, ...]]:
    rows = Counter(data.splits["test"]["phenomenon"].to_pylist())
    listed: list[tuple[str, ...]] = []
    for p in table.phenomena:
        cues = []
        for target in p.targets:
            cue = target.cue
            lemmas = f" ({', '.join(cue.lemma)})" if cue.lemma else ""
            said = [f"a dependent {' or '.join(cue.dependent)}{lemmas}"] if cue.dependent else []
            said += [f"another verb with {cue.elsewhere}"] if cue.elsewhere else []
            said += [f"no dependent {' or '.join(cue.without)}"] if cue.without else []
            cues.append(" and ".join(said))
        withheld = " and ".join(p.withheld) or "– (formation)"
        feats = p.feats + "".join(f"[;{name}]" for name in p.given)
        listed.append((p.name, feats, withheld, "; or ".join(dict.fromkeys(cues)), count(rows[p.name])))
    return listed


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(markdown(cell) for cell in row) + " |" for row in rows])


def _mark(check: Check) -> str:
    return {True: "✓", False: "✗", None: "–"}[check.ok]
