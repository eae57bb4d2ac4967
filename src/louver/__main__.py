"""`python -m louver`: the command, where it is not on the path."""

import sys

from louver.cli import main

sys.exit(main())
