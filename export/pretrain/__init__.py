"""Pre-training of the small masked models that ship with the product.

text -> vocabulary -> corpus -> order + masking -> loop -> finish; `python -m export.pretrain --help` lists the commands.
Needs torch and transformers; sentencepiece only to cut a Unigram vocabulary.
"""
