"""The verb-inflection cloze: builds a MorphBench-style benchmark from treebanks, checks it, scores masked models on it.

languages/*.toml  what is asked in each language: data, not code      tables       those tables, read and checked
features          FEATS and UniMorph tags as one set of features      paradigms    the forms of a lemma, by resource
frequencies       counts of any plain-text corpus                     candidates   verbs that a table's conditions admit
splits            lemma- and sentence-disjoint splits, caps, cells    build, card  the data set and its card
dataset           the documented schema, read and written             audit        every construction guarantee, checked
inputs, scoring   items to model inputs, through the same engine      outcomes     hits of every item and decoder
results, report   tables with intervals, drawn by the report package  cli          `morphorder cloze …`
"""
