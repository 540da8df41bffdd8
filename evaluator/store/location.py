"""The one door to files: a folder on this machine or any URI that `pyarrow.fs` opens (s3://…, gs://…).

A write is all or nothing: locally a temporary name, fsync and rename; on an object store one upload, visible when it
closes. Names that begin with `_` are temporary and never listed.
"""

import os
import uuid
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from evaluator.errors import StoreError


@dataclass(frozen=True, slots=True)
class Location:
    """A folder in some file system; `text` is what the user wrote and what travels to workers.

    A URI may end in a query (`s3://bucket/run?region=eu-west-1&endpoint_override=…`) and begin with keys
    (`s3://KEY:SECRET@bucket/run`): they say how to reach the place and are part of no name, so `str` leaves them out.
    """

    text: str

    @classmethod
    def of(cls, place: "str | Path | Location") -> "Location":
        """The location of a path or URI; local paths become absolute, `~` the home folder."""
        if isinstance(place, Location):
            return place
        text = str(place)
        if "://" not in text:
            return cls(str(Path(text).expanduser().absolute()))
        place, mark, query = text.partition("?")
        return cls(f"{place.rstrip('/')}{mark}{query}")

    @property
    def is_local(self) -> bool:
        return "://" not in self.text

    def _opened(self) -> tuple[pafs.FileSystem, str]:
        if self.is_local:
            return pafs.LocalFileSystem(), self.text
        return _file_system(self.text)

    def __truediv__(self, name: str) -> "Location":
        place, mark, query = self.text.partition("?")
        return Location(f"{place}/{name}{mark}{query}")

    def __str__(self) -> str:
        return without_secrets(self.text)

    def __repr__(self) -> str:
        return f"Location({str(self)!r})"

    def exists(self, name: str) -> bool:
        """Whether the file `name` is there, finished."""
        files, root = self._opened()
        return bool(files.get_file_info(f"{root}/{name}").type == pafs.FileType.File)

    def names(self, folder: str = "") -> list[str]:
        """Sorted names of the finished files directly in `folder`; empty when it does not exist."""
        files, root = self._opened()
        selector = pafs.FileSelector(f"{root}/{folder}".rstrip("/"), allow_not_found=True)
        found = files.get_file_info(selector)
        return sorted(i.base_name for i in found if i.type == pafs.FileType.File and i.base_name[0] not in "._")

    def folders(self, folder: str = "") -> list[str]:
        """Sorted names of the folders directly in `folder`; empty when it does not exist."""
        files, root = self._opened()
        selector = pafs.FileSelector(f"{root}/{folder}".rstrip("/"), allow_not_found=True)
        found = files.get_file_info(selector)
        return sorted(i.base_name for i in found if i.type == pafs.FileType.Directory and i.base_name[0] not in "._")

    def read(self, name: str) -> pa.Buffer:
        """The whole content of a file; memory-mapped where the file system allows."""
        files, root = self._opened()
        try:
            if self.is_local:
                with pa.memory_map(f"{root}/{name}") as mapped:
                    return mapped.read_buffer()
            with files.open_input_file(f"{root}/{name}") as file:
                return file.read_buffer()
        except OSError as error:
            raise StoreError(f"cannot read: {error}", where=f"{self}/{name}") from error

    def write(self, name: str, content: bytes | pa.Buffer) -> None:
        """Writes a file, all or nothing. Errors: StoreError when the place is full, read-only or out of reach."""
        files, root = self._opened()
        path = f"{root}/{name}"
        try:
            if self.is_local:
                _write_durably(Path(path), content)
            else:
                with files.open_output_stream(path) as stream:
                    stream.write(content)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StoreError(
                f"cannot write: {reason}", where=f"{self}/{name}", hint="nothing finished is lost"
            ) from error

    def copy_to(self, name: str, path: Path) -> None:
        """Copies a file to this machine, in blocks. Errors: StoreError when it is not there or out of reach."""
        files, root = self._opened()
        try:
            with files.open_input_stream(f"{root}/{name}") as source, path.open("wb") as target:
                while block := source.read(8 << 20):
                    target.write(block)
        except OSError as error:
            raise StoreError(f"cannot copy to {path}: {error}", where=f"{self}/{name}") from error

    def delete(self, name: str) -> None:
        """Removes a file, if it is there."""
        files, root = self._opened()
        try:
            files.delete_file(f"{root}/{name}")
        except FileNotFoundError:
            return


def without_secrets(place: str) -> str:
    """A path, or a URI without its query and without what stands before an @: what may be shown, logged or kept."""
    scheme, mark, rest = place.partition("://")
    if not mark:
        return place
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _secrets(uri: str) -> list[str]:
    """The parts of a URI that are not to be shown, longest first."""
    rest, _, query = uri.partition("://")[2].partition("?")
    keys = rest.partition("/")[0].rpartition("@")[0]
    parts = [keys, *keys.split(":"), query, *(pair.partition("=")[2] for pair in query.split("&"))]
    return sorted({p for p in parts if len(p) > 3}, key=len, reverse=True)


@lru_cache(maxsize=256)
def _file_system(uri: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a URI and the path in it; kept, since each holds a pool of connections."""
    try:
        files, root = pafs.FileSystem.from_uri(uri)
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        shown = without_secrets(uri)
        reason = str(error).replace(uri, shown)
        for secret in _secrets(uri):
            reason = reason.replace(secret, "…")
        raise StoreError(
            f"cannot open: {reason}", where=shown, hint="use a path or an s3:// or gs:// URI"
        ) from None  # the library's own message may quote the keys
    return files, root


def _write_durably(path: Path, content: bytes | pa.Buffer) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"_{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
