"""`python -m evaluator` is `morphorder`."""

from evaluator.cli import main

if __name__ == "__main__":
    main()
