"""The four stages of a run, each resumable and idempotent: prepare, encode, score, report."""
