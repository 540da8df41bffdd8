"""Scoring: encoded rows and a model bundle in, the k best words and the gold's log-probability out."""
