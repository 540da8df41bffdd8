"""Every error a user can meet, as one small tree.

MorphorderError            exit 1: something failed that is not the user's doing
├── ComparisonError        runs that share too few items to be compared
└── UserError              exit 2: one line saying what, where, what was expected and what to do
    ├── ConfigError        a setting that cannot be used
    ├── TreebankError      a treebank that cannot be read at all (damaged sentences are excluded, not raised)
    ├── BundleError        a model bundle that is incomplete, altered or of the wrong kind
    ├── DatasetError       a data set, word list or corpus that does not follow its documented form
    └── StoreError         a run folder that cannot be read, written or continued
"""


class MorphorderError(Exception):
    """Base of all errors this package raises on purpose."""

    code = "failed"
    exit_code = 1

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def as_dict(self) -> dict[str, object]:
        """What a command says of it under `--json`."""
        told = {"code": self.code, "message": self.message, "where": self.where, "hint": self.hint}
        return {"ok": False, "error": told}

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{remedy}"


class ComparisonError(MorphorderError):
    """Two runs that share too few items to be compared."""

    code = "not_comparable"


class UserError(MorphorderError):
    """A mistake the user can mend."""

    code = "user_error"
    exit_code = 2


class ConfigError(UserError):
    """A setting that cannot be used."""

    code = "config"


class TreebankError(UserError):
    """A treebank that cannot be read at all."""

    code = "treebank"


class BundleError(UserError):
    """A model bundle that is incomplete, altered or of the wrong kind."""

    code = "bundle"


class DatasetError(UserError):
    """A data set, word list or corpus that does not follow its documented form."""

    code = "dataset"


class StoreError(UserError):
    """A run folder that cannot be read, written or continued."""

    code = "store"
