"""`morphorder submit`: the same run as a Ray job, from a laptop that needs neither the models nor the treebanks.

Imported by every `morphorder` command, so Ray is imported only where it is used.
"""

import io
import shlex
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from cluster.main import MARK, RETURN_VARIABLE, report_in
from evaluator.errors import ConfigError, MorphorderError, UserError

if TYPE_CHECKING:
    from ray.job_submission import JobSubmissionClient

POLL_S, LONGEST_POLL_S = 1.0, 15.0
BASE_PACKAGES = (
    "altair", "conllu", "numpy", "onnxruntime", "pyarrow", "pydantic", "rich", "scipy", "tokenizers", "typer",
    "vl-convert-python",
)  # fmt: skip
"""What `--install` has Ray install on the cluster, at the versions here. Never Ray itself."""


class _ConfigFirst(TyperGroup):
    """`submit CONFIG` is `submit run CONFIG`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ConfigFirst,
    no_args_is_help=True,
    help="Run a config on a Ray cluster, from here.\n\n"
    "`morphorder submit config.toml --address http://HEAD:8265 --out results`\n\n"
    "`morphorder submit status|logs|stop|report ID --address http://HEAD:8265`",
)
Address = Annotated[str, typer.Option("--address", envvar="RAY_API_SERVER_ADDRESS", help="The head: http://HEAD:8265")]
Job = Annotated[str, typer.Argument(metavar="ID", help="What submit printed.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder here for the report.")]


@app.command("run")
def submit(
    config: Annotated[Path, typer.Argument(help="Settings in TOML, as for morphorder run.")],
    address: Address,
    out: Out = Path("report"),
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the job, or print its ID and leave.")] = True,
    install: Annotated[
        bool, typer.Option("--install", help="Have Ray install the packages, at the versions here.")
    ] = False,
    limit_mib: Annotated[int, typer.Option("--limit-mib", help="Largest job to send.")] = 256,
) -> None:
    """Send a config with what it needs, follow it, bring the report back."""
    from cluster.package import CONFIG_NAME, make_package
    from evaluator.config import read_config

    settings = read_config(config)
    with tempfile.TemporaryDirectory(prefix="morphorder-") as folder, _one_line_errors(address):
        package = make_package(settings, Path(folder), limit_bytes=limit_mib << 20)
        client = _client(address)
        for path in package.left_out:
            _say(f"not here, so taken to be the cluster's: {path}")
        _say(f"sending {package.size / (1 << 20):.1f} MiB")
        environment: dict[str, Any] = {
            "working_dir": folder,
            "env_vars": {RETURN_VARIABLE: "1", "MORPHORDER_PROGRESS": "lines", "TOKENIZERS_PARALLELISM": "false"},
        }
        if install:
            environment["pip"] = _pins()
        job = client.submit_job(
            entrypoint=shlex.join(["python", "-m", "cluster.main", CONFIG_NAME]), runtime_env=environment
        )
    print(job, flush=True)
    if wait:
        raise typer.Exit(_follow(address, job, out))


@app.command("status")
def status(job: Job, address: Address) -> None:
    """Print what a job is doing: PENDING, RUNNING, SUCCEEDED, FAILED, STOPPED."""
    with _one_line_errors(address):
        print(_client(address).get_job_status(job).value)


@app.command("logs")
def logs(job: Job, address: Address) -> None:
    """Print what a job has said so far."""
    with _one_line_errors(address):
        print(_shown(_client(address).get_job_logs(job)), end="")


@app.command("stop")
def stop(job: Job, address: Address) -> None:
    """Stop a job; its finished shards are kept, and the same submit goes on from them."""
    with _one_line_errors(address):
        stopped = _client(address).stop_job(job)
    print("stopped" if stopped else "was not running")


@app.command("report")
def report(job: Job, address: Address, out: Out = Path("report")) -> None:
    """Bring back the report of a finished job."""
    with _one_line_errors(address):
        log = _client(address).get_job_logs(job)
    if not _unpack(log, out):
        raise UserError("has no report yet", where=job, hint="see: morphorder submit logs ID")


def _follow(address: str, job: str, out: Path) -> int:
    """The job's exit code, its log shown as it grows and its report unpacked. Ctrl-C leaves the job running."""
    shown, pause = 0, POLL_S
    try:
        while True:
            with _one_line_errors(address):
                client = _client(address)
                details = client.get_job_info(job)
                log = client.get_job_logs(job)
            text = _shown(log)
            pause = POLL_S if len(text) > shown else min(2 * pause, LONGEST_POLL_S)
            print(text[shown:], end="", file=sys.stderr, flush=True)
            shown = len(text)
            if details.status.is_terminal():
                break
            time.sleep(pause)
    except KeyboardInterrupt:
        _say(f"{job} goes on without you: morphorder submit status|logs|stop|report {job}")
        raise
    if _unpack(log, out):
        print(f"report: {out}/report.html")
    if details.status.value == "SUCCEEDED":
        return 0
    code = details.driver_exit_code
    if code in (1, 2):
        return int(code)
    raise MorphorderError(f"{details.status.value}: {details.message}", where=job, hint="finished shards are kept")


def _shown(log: str) -> str:
    """The log without the report in it; whole lines only, so that it only grows."""
    whole = log[: log.rfind("\n") + 1]
    return "".join(line for line in whole.splitlines(keepends=True) if not line.startswith(MARK))


def _unpack(log: str, out: Path) -> bool:
    """Whether there was a report in the log; it is in `out` now."""
    packed = report_in(log)
    if packed:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(out)
    return bool(packed)


def _client(address: str) -> "JobSubmissionClient":
    import ray
    from ray.job_submission import JobSubmissionClient

    client = JobSubmissionClient(address)
    # get_version() gives the version of the jobs API; Ray's own is in the same answer, behind the client's own request.
    there = str(client._do_request("GET", "/api/version").json()["ray_version"])
    if there != ray.__version__:
        raise UserError(
            f"the cluster runs Ray {there}, this machine {ray.__version__}",
            where=address,
            hint=f"pip install 'ray[data,default]=={there}'",
        )
    return client


@contextmanager
def _one_line_errors(address: str) -> Iterator[None]:
    """Turns what Ray's client raises into one line with a remedy."""
    try:
        from ray.exceptions import AuthenticationError
    except ImportError as error:
        raise UserError(str(error), where="submit", hint="pip install 'morphorder[cluster]'") from error
    try:
        yield
    except MorphorderError:
        raise
    except AuthenticationError as error:
        raise UserError(
            "the cluster wants a token, or another one",
            where=address,
            hint="export RAY_AUTH_MODE=token and RAY_AUTH_TOKEN=…; on the head: ray get-auth-token",
        ) from error
    except ConnectionError as error:
        raise ConfigError(
            "no Ray head answers", where=address, hint="is the port open? ssh -L 8265:localhost:8265 HEAD"
        ) from error
    except RuntimeError as error:
        message, hint = _refusal(str(error))
        raise UserError(message, where=address, hint=hint) from error


def _refusal(message: str) -> tuple[str, str]:
    """What Ray's server said, in a line, and what to do about it."""
    if "404" in message:
        return "no such job", "submit prints the ID"
    if "No available agent" in message:
        return "the head takes no jobs", "wait until it is up; port 52365 on it may be another Ray's"
    return message.strip().splitlines()[-1][:300], ""


def _pins() -> list[str]:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in BASE_PACKAGES:
        try:
            found.append(f"{name}=={version(name)}")
        except PackageNotFoundError:
            continue
    return found


def _say(line: str) -> None:
    print(f"submit: {line}", file=sys.stderr, flush=True)
