"""`python -m export.pretrain`."""

from export.pretrain.cli import main

main()
