"""Every bound of the suite, with its unit and reason: a target may be hostile."""

from typing import Final

# Bytes of one message of a target: as many as the gateway reads.
MAX_MESSAGE_BYTES: Final = 8 * 1024 * 1024

# Messages of a target that are read while one answer is awaited.
MAX_OTHER_MESSAGES: Final = 1000

# Seconds until a target answers its first request: `npx` may have to fetch it, and FastMCP looks for updates.
OPENING_TIMEOUT_S: Final = 60.0

# Seconds until it answers any other request, unless `--timeout` says otherwise.
ANSWER_TIMEOUT_S: Final = 10.0

# The most that `--timeout` takes, in seconds.
MAX_TIMEOUT_S: Final = 3600.0

# Seconds for all checks of one protocol revision, in times of an answer's; then those that are left are not tried.
REVISION_ANSWERS: Final = 24

# Seconds until a target's process ends by itself, and then again after SIGTERM.
EXIT_TIMEOUT_S: Final = 2.0

# Seconds until the validator process has validated values against a schema of a target; it takes a millisecond.
VALIDATION_TIMEOUT_S: Final = 30.0

# Seconds for all calls of the stock client; starting it and calling a few tools takes two.
STOCK_CLIENT_TIMEOUT_S: Final = 60.0

# Tools whose answers checks are tried on. Each check needs one or two.
MAX_SAMPLES: Final = 6

# Calls that are made to find them.
MAX_SAMPLE_CALLS: Final = 24

# Bytes of the JSON of an answer that checks are tried on: each compares it many times.
MAX_SAMPLE_BYTES: Final = 1_000_000

# Fields of an answer from which the requested ones are chosen; texts of it that are looked for where they may not be.
MAX_FIELDS: Final = 200

# Characters of a requested field path: every server takes so many.
MAX_PATH_CHARACTERS: Final = 512

# Tools, or resources, in a target's list, and pages of that list.
MAX_LISTED: Final = 10_000
MAX_LIST_PAGES: Final = 100

# Tools that are named in one read of descriptions.
DESCRIPTIONS_A_READ: Final = 50

# Code points in the detail of an outcome: names of a target's tools can be of any length.
MAX_DETAIL_CHARACTERS: Final = 500
