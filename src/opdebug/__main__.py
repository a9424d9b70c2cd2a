"""`opdebug` and `python -m opdebug`: only what `--version` needs is imported before the arguments are known."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command line; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments == ["--version"]:
        from opdebug import __version__

        sys.stdout.write(f"opdebug {__version__}\n")
        return 0
    from opdebug.cli.main import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
