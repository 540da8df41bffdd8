"""The audit: what must hold of any finished run, found out from its tables and not from what it says of itself."""
