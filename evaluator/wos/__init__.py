"""Classifiers under shuffling: how much of what a sequence classifier gets right survives when its words are reordered.

settings        what is asked: task, columns, orders       tasks.toml        the GLUE tasks as published
table           rows of a file, a treebank or a hub        published         published numbers, and how sure each is
words, nouns    texts as units; what is swapped as nouns   shuffle           orders of an input, addressed by its text
prepare         examples and items into the run folder     inputs            pieces, distinct rows, through the engine
labels          the data's classes as the model's          outcomes          what the classifier said of every item
select          dev-r: correctly classified, balanced      measures          word-order sensitivity, with intervals
run, report     the whole flow; page, tables and JSON      cli               `morphorder wos …`
heads, silence  alike words joined by heads; which are off heads_run, …      the flow and the report of heads
order_task      the synthetic one-word-moved task
"""
