"""Storage: the one door to files and object stores, Arrow shards with fingerprints, and the run folder."""
