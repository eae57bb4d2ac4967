"""A process that counts calls.

python counting.py FILE COUNT     counts so many, prints a line once they are written, counts one more, and waits
"""

import asyncio
import sys
from pathlib import Path

from louver.steps.call_record import ServerAnswer
from louver.steps.savings.counter import SavingsCounter, Whole
from louver.steps.savings.report import SavingsReport

TEXT = {"content": [{"type": "text", "text": "x" * 10}]}


def count(counter, number=1, tool="find", sent=TEXT, shown="text"):
    for _ in range(number):
        counter.add([Whole("crm", tool, ServerAnswer(tool, TEXT, "brief"))], sent, shown)


async def main(file, number):
    counter = SavingsCounter(file)
    count(counter, number)
    while SavingsReport(file).total()["calls"] < number:  # noqa: ASYNC110 - it is about the timer
        await asyncio.sleep(0.01)
    print("written", flush=True)
    count(counter)
    await asyncio.to_thread(sys.stdin.read)
    await counter.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
