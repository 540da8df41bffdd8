"""What a run needs and the cluster does not have: our own sources, the config, treebanks and bundles, in one folder.

Ray sends a folder whole, whatever lies in it, and drops what a `.gitignore` in it names. So it gets a folder made for
the purpose, of measured size, in which every path of the config is relative.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import cluster
import evaluator
from cluster.versions import versions_here
from evaluator.config import BUNDLED_MODELS, DEMO, Config, TreebankSpec
from evaluator.errors import UserError
from evaluator.stages.prepare import sources_of

CONFIG_NAME = "config.toml"
PINS_NAME = "pins.json"
LIMIT_BYTES = 256 << 20
"""Ray refuses packages of 512 MiB and more; each node fetches the package before it can start."""
HOME_RUNS = "~/morphorder-runs"


@dataclass(frozen=True, slots=True)
class Package:
    """A folder ready to be sent: how large it is, and which paths of the config are taken to be the cluster's."""

    folder: Path
    size: int
    left_out: tuple[str, ...]


def make_package(config: Config, folder: Path, *, limit_bytes: int = LIMIT_BYTES) -> Package:
    """The package of a config, made in `folder`. Errors: UserError that lists the largest files when over the limit.

    A treebank or model that is not here is left as it is written: a path or URI that the cluster can open.
    """
    left_out: list[str] = []
    treebanks = [spec for t in config.treebanks for spec in _packed_treebanks(t, folder, left_out)]
    models = [_packed_model(model, folder, left_out) for model in config.models]
    settings = config.model_dump(mode="json", exclude_defaults=True)
    settings |= {"treebanks": treebanks, "models": models, "engine": "ray", "out": _out(config.out)}
    if subset := config.sample.subset:
        _copy(Path(subset), folder / "subset" / Path(subset).name)
        settings["sample"]["subset"] = f"subset/{Path(subset).name}"
    _copy_sources(folder, demo_treebanks=any(t.path == DEMO for t in config.treebanks), models=config.models)
    (folder / CONFIG_NAME).write_text("\n".join(_toml_lines(settings)) + "\n", encoding="utf-8")
    (folder / PINS_NAME).write_text(json.dumps(versions_here()), encoding="utf-8")
    sizes = {p.relative_to(folder).as_posix(): p.stat().st_size for p in sorted(folder.rglob("*")) if p.is_file()}
    total = sum(sizes.values())
    if total > limit_bytes:
        largest = sorted(sizes, key=lambda name: -sizes[name])[:5]
        raise UserError(
            f"the job is {_mib(total)}, more than {_mib(limit_bytes)}; largest: "
            + ", ".join(f"{name} {_mib(sizes[name])}" for name in largest),
            where="submit",
            hint="put large models where the cluster can open them, and name that path or s3:// URI under models",
        )
    return Package(folder, total, tuple(left_out))


def _packed_treebanks(spec: TreebankSpec, folder: Path, left_out: list[str]) -> Iterator[dict[str, Any]]:
    """The specs that stand for one of the config: one for each treebank it matches."""
    given = spec.model_dump(mode="json", exclude_defaults=True)
    if spec.path == DEMO or "://" in spec.path or (Path(spec.path).is_absolute() and not _is_here(spec.path)):
        if spec.path != DEMO:
            left_out.append(spec.path)
        yield given
        return
    for source in sources_of(spec):
        place = Path("treebanks") / f"{len(list((folder / 'treebanks').glob('*'))):03d}" / source.name
        for file in source.files:
            _copy(file, folder / place / file.name)
        path = place / source.files[0].name if len(source.files) == 1 else place
        yield {**given, "path": path.as_posix(), "name": source.name, "language": source.language}


def _is_here(pattern: str) -> bool:
    path = Path(pattern)
    return path.exists() or any(path.parent.parent.glob(f"{path.parent.name}/{path.name}"))


def _packed_model(model: str, folder: Path, left_out: list[str]) -> str:
    if model in BUNDLED_MODELS:
        return model
    source = Path(model)
    if "://" in model or (source.is_absolute() and not source.exists()):
        left_out.append(model)
        return model
    if not source.is_dir():
        raise UserError(
            "no such model folder", where=f"models: {model}", hint="an absolute path or URI may be the cluster's"
        )
    place = Path("models") / f"{len(list((folder / 'models').glob('*'))):03d}" / source.name
    for file in sorted(source.iterdir()):
        if file.is_file() and not file.name.startswith("."):
            _copy(file, folder / place / file.name)
    return place.as_posix()


def _out(out: str) -> str:
    """Where the run folder is on the cluster: a URI or absolute path as given, else below the home folder there."""
    return out if "://" in out or Path(out).is_absolute() else f"{HOME_RUNS}/{out}"


def _copy_sources(folder: Path, *, demo_treebanks: bool, models: tuple[str, ...]) -> None:
    """Copies our packages, with what of the demo is used, and the metadata by which commands find engines."""
    wanted = {f"models/{m}" for m in models if m in BUNDLED_MODELS} | ({"sentences"} if demo_treebanks else set())
    for package in (evaluator, cluster):
        root = Path(str(package.__file__)).parent
        for file in sorted(root.rglob("*")):
            inside = file.relative_to(root)
            unused = inside.parts[0] == "demo" and not any(inside.is_relative_to(Path("demo") / w) for w in wanted)
            if file.is_file() and "__pycache__" not in inside.parts and (not unused or file.suffix == ".py"):
                _copy(file, folder / root.name / inside)
    installed = distribution("morphorder")
    info = folder / f"morphorder-{installed.version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: morphorder\nVersion: {installed.version}\n")
    lines = []
    for group in ("morphorder.engines", "morphorder.blocks"):
        ours = [e for e in installed.entry_points.select(group=group) if e.value.startswith(("evaluator", "cluster"))]
        lines += [f"[{group}]", *(f"{e.name} = {e.value}" for e in ours)]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _toml_lines(settings: dict[str, Any]) -> Iterator[str]:
    for key, value in settings.items():
        if value is not None:
            yield f"{key} = {_toml(value)}"


def _toml(value: Any) -> str:
    """A value as TOML: JSON's scalars and strings are TOML's, tables are written inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _mib(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"
