"""A process that writes audit records and ships them until it is killed; it prints a line after each record.

python shipped.py FILE DESTINATION NAME
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from louver.steps.audit.writer import AuditWriter
from louver.team.audit import shipper
from louver.team.audit.line_file import LineFile
from louver.team.audit.spool import Spool, SpoolTable
from steps.audited import record


async def main(file, destination, name):
    shipper.AUDIT_SHIPPED_S = 0.001
    audit = AuditWriter(file, spool=SpoolTable(b"k" * 32))
    shipper.Shipper(Spool(file), LineFile(destination)).start()
    for number in count():
        await audit.write(record(correlation=f"{name}{number}"))
        print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
