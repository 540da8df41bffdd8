"""A finished run in other people's formats: Every Eval Ever records (`eee`), a Hub dataset folder (`hub`)."""
