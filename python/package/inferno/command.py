"""The `inferno` command."""

from __future__ import annotations

import signal
import sys

from . import _inferno


def main() -> int:
    """Runs the `inferno` command with the arguments of the process, and returns the exit code."""
    # The command handles Ctrl-C itself; Python's handler would only run after it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _inferno.main(["inferno", *sys.argv[1:]])
