"""Encoding: items and a tokenizer in, distinct model inputs out, sorted by length."""
