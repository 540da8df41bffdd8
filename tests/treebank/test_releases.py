"""Treebanks by name and release: fetched once from a server that the test starts, and checked at each use."""

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from evaluator.config import Config
from evaluator.errors import TreebankError
from evaluator.stages.prepare import find
from evaluator.treebank.licences import licence_of
from evaluator.treebank.read import read_treebank
from evaluator.treebank.releases import SOURCE_VARIABLE, SUMS_FILE, release_folder
from evaluator.treebank.sources import find_sources

URI = "ud://2.15/UD_German-PUD"
TEST_FILE = "# text = a\n1\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
FILES = {
    "de_pud-ud-test.conllu": TEST_FILE,
    "de_pud-ud-train.conllu": TEST_FILE * 2,
    "LICENSE.txt": "Attribution-ShareAlike 3.0",
    "stats.xml": "<treebank/>",
    "not-to-release/x.conllu": "draft",
    "../../../evil.conllu": "evil",
}


def archive_of(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"UD_German-PUD-r2.15/{name}", content)
    return packed.getvalue()


@dataclass
class Server:
    """Archives by path, and the paths that were asked for."""

    archives: dict[str, bytes]
    asked: list[str] = field(default_factory=list)
    cut_at: int | None = None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    state = Server({"/r2.15/UD_German-PUD.zip": archive_of(FILES)})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            content = state.archives.get(self.path)
            self.send_response(200 if content else 404)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write((content or b"")[: state.cut_at])

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        monkeypatch.setenv(SOURCE_VARIABLE, f"http://127.0.0.1:{http.server_port}/r{{release}}/{{name}}.zip")
        monkeypatch.setenv("MORPHORDER_CACHE", str(tmp_path / "cache"))
        yield state
        http.shutdown()


def test_named_treebank_is_fetched_once_and_is_the_treebank(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        (source,) = find_sources([URI])
        assert (source.name, source.language) == ("UD_German-PUD", "de")
        assert [f.read_text() for f in source.files] == [TEST_FILE]
    (train,) = find_sources([URI], split="train")
    assert len(read_treebank(train.files, name="t", language="de").sentences) == 2
    assert server.asked == ["/r2.15/UD_German-PUD.zip"]
    folder = source.files[0].parent
    assert licence_of("de", "none", folder) == "CC BY-SA 3.0"
    assert {f.name for f in folder.iterdir()} == {*list(FILES)[:3], SUMS_FILE}
    assert not [p for p in tmp_path.rglob("*") if p.name in ("evil.conllu", "x.conllu")]


def test_many_at_once_fetch_it_once(server: Server) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(release_folder, [URI] * 8))) == 1
    assert len(server.asked) == 1


def test_changed_file_is_not_used(server: Server) -> None:
    folder = release_folder(URI)
    (folder / "de_pud-ud-test.conllu").write_text(TEST_FILE.replace("a", "b"))
    with pytest.raises(TreebankError, match=r"de_pud-ud-test\.conllu: changed since it was fetched \(delete"):
        release_folder(URI)


def test_what_cannot_be_fetched_is_said_in_a_line_and_leaves_nothing(server: Server, tmp_path: Path) -> None:
    with pytest.raises(TreebankError, match=r"404 .*is UD_German-GSD in release 2\.15\?"):
        release_folder("ud://2.15/UD_German-GSD")
    server.cut_at = 200
    with pytest.raises(TreebankError, match="cannot be fetched from http") as caught:
        release_folder(URI)
    assert "\n" not in str(caught.value)
    server.cut_at = None
    server.archives["/r2.15/UD_German-PUD.zip"] = archive_of({"README.md": ""})
    with pytest.raises(TreebankError, match=r"no \.conllu file"):
        release_folder(URI)
    assert [p for p in (tmp_path / "cache").rglob("*") if p.is_file() and p.suffix != ".lock"] == []


def test_without_a_network_the_line_says_what_else_to_do(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = release_folder(URI)
    monkeypatch.setenv(SOURCE_VARIABLE, "http://127.0.0.1:9/{release}/{name}")
    assert release_folder(URI) == kept
    with pytest.raises(TreebankError, match="without a network give a folder"):
        release_folder("ud://2.15/UD_French-PUD")


@pytest.mark.parametrize("uri", ["ud://2.15/UD_*-PUD", "ud://UD_German-PUD", "ud://2.15/../x", "ud://latest/UD_A-B"])
def test_name_that_pins_nothing_is_refused(uri: str) -> None:
    with pytest.raises(TreebankError, match=r"write it as ud://2\.15/UD_German-PUD"):
        find_sources([uri])


def test_config_may_pin_the_hash(server: Server) -> None:
    sha256 = hashlib.sha256(TEST_FILE.encode()).hexdigest()
    for pinned in ("", sha256):
        (found,) = find(Config.model_validate({"treebanks": [{"path": URI, "sha256": pinned}]}))
        assert found.sha256 == sha256
    with pytest.raises(TreebankError, match=f"its hash is {sha256}, the config pins 00"):
        find(Config.model_validate({"treebanks": [{"path": URI, "sha256": "00"}]}))
