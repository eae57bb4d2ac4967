"""What one client has read authorises all clients of the same user."""

import atexit
import os
from pathlib import Path
from tempfile import gettempdir

from honest import Honest


class Broken(Honest):
    shared = Path(gettempdir()) / f"louver-broken-{os.getppid()}"

    def __init__(self):
        super().__init__()
        self.shared.touch()
        atexit.register(self.shared.unlink, missing_ok=True)

    def remember(self, names, grant):
        super().remember(names, grant)
        with self.shared.open("a") as file:
            file.write(" ".join(["", *names]))

    def may_call(self, name, meta, arguments):
        return name in self.shared.read_text().split()


Broken().serve()
