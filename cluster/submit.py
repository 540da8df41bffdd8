"""`morphorder submit`: the same run as a Ray job, from a laptop."""

import typer

app = typer.Typer(no_args_is_help=True, help="Run a config on a Ray cluster, from here.")
