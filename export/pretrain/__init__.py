"""Pre-training of the small masked models that ship with the product.

text -> vocabulary -> corpus -> order + masking -> loop; `python -m export.pretrain --help` lists the commands in the
order in which they are run. Needs torch and transformers; sentencepiece only to cut a Unigram vocabulary.
"""
