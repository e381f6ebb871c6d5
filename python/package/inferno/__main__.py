"""`python -m inferno` runs the `inferno` command."""

import sys

from .command import main

sys.exit(main())
