"""Archives cannot write beside the folder they are opened in, and treebanks in archives are not opened at all."""

import base64
import io
import stat
import zipfile
from pathlib import Path

import pytest

from evaluator.errors import TreebankError
from evaluator.treebank.read import read_treebank


@pytest.mark.parametrize("name", ["../evil", "/tmp/../../evil", "a/../../evil", "../../../../evil"])
def test_report_printed_by_a_job_stays_in_its_folder(name: str, tmp_path: Path) -> None:
    submit = pytest.importorskip("cluster.submit")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("report.json", "{}")
        archive.writestr(name, "evil")
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, str(tmp_path))
        if name.startswith("a/"):
            archive.writestr("link/through", "evil")
    out = tmp_path / "deep" / "down" / "report"
    out.mkdir(parents=True)
    before = {p for p in tmp_path.rglob("*") if not p.is_relative_to(out)}
    log = f"{submit.MARK}{base64.b64encode(packed.getvalue()).decode()}\n"
    try:
        assert submit._unpack(log, out)
    except OSError as error:
        assert "link" in str(error), "a link is written as a file, so nothing can go through it"
    assert {p for p in tmp_path.rglob("*") if not p.is_relative_to(out)} == before
    assert not Path("/evil").exists()
    assert not any(p.is_symlink() for p in out.rglob("*"))


def test_treebank_in_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "xx-ud-test.conllu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../evil", "1\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(TreebankError, match="compressed"):
        read_treebank([path], name="xx", language="xx")
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name]
