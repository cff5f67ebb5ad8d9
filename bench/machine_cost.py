"""BAR-03: CPU of the machine itself, log in memory, against a bare `transitions` asynchronous machine.

Both walk the same eight phases to `done`. CPU time of the process, rounds interleaved, medians.

    python bench/machine_cost.py [ROUNDS]
"""

import asyncio
import statistics
import sys
import time

import workload
from transitions.extensions.asyncio import AsyncMachine

from phasewalk.machine.testing import MemoryLog

TURNS = 300


async def ours() -> float:
    runner = workload.runner(MemoryLog())
    start = time.process_time()
    await workload.walk(runner, 0, TURNS, 1)
    return (time.process_time() - start) / TURNS


async def bare() -> float:
    states = [*workload.STATES, "done"]
    moves = [
        {"trigger": event, "source": source, "dest": target}
        for (source, event), target in zip(workload.PATH.items(), states[1:], strict=True)
    ]
    start = time.process_time()
    machine = AsyncMachine(states=states, transitions=moves, initial=states[0], auto_transitions=False)
    for _ in range(TURNS):
        machine.set_state(states[0])
        for event in workload.PATH.values():
            await machine.trigger(event)
    return (time.process_time() - start) / TURNS


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    mine, theirs = [], []
    for _ in range(rounds):
        mine.append(asyncio.run(ours()))
        theirs.append(asyncio.run(bare()))
    ratio = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
    print("| ours, us CPU a turn | bare asynchronous machine | ratio (median of rounds) | bar |")
    print("| --- | --- | --- | --- |")
    print(f"| {statistics.median(mine) * 1e6:.0f} | {statistics.median(theirs) * 1e6:.0f} | {ratio:.2f} | at most 3 |")


if __name__ == "__main__":
    main()
