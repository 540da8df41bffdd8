"""Outcomes to cells, comparisons and counts, with their intervals: pure functions over Arrow tables."""
