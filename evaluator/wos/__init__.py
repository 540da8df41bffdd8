"""Classifiers under shuffling: how much of what a sequence classifier gets right survives when its words are reordered.

settings        what is asked: task, columns, orders       tasks.toml        the GLUE tasks as published
table           rows of a file, a treebank or a hub        published         published numbers, and how sure each is
words, nouns    texts as units; what is swapped as nouns   shuffle           orders of an input, addressed by its text
prepare         examples and items into the run folder     inputs            pieces, distinct rows, through the engine
labels          the data's classes as the model's          outcomes          what the classifier said of every item
select          dev-r: correctly classified, balanced      measures          word-order sensitivity, with intervals
run, report     the whole flow; page, tables and JSON      cli               `morphorder wos …`
attribution, _run, _report    what words are worth (LIME), before and after; with a lexicon of polarity
heads, silence, _run, _report    heads that join alike words; what silencing them costs
order_task      the synthetic task of one word moved, which `export` fine-tunes on
"""
