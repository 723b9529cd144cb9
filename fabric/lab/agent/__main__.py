"""The agent: `python -m fabric.lab.agent BOXES SOCKET`.

BOXES is JSON, switch name -> pid of its init. Says `up NAME` on stdout as each switch has booted, then serves SOCKET:
one JSON line `{"box": NAME, "do": ...}` a connection, one line back.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from fabric.lab.agent.box import Box

# With more switches than this, port counters are read more seldom than SONiC's every second.
_FULL_PACE = 8


async def _main(boxes: dict[str, int], path: str, told: int) -> None:
    switches = {name: Box(name, pid) for name, pid in boxes.items()}
    gate = asyncio.Semaphore(8)
    slowdown = max(1.0, len(switches) / _FULL_PACE)

    async def boot(number: int, box: Box) -> None:
        async with gate:
            await box.start(number / len(switches), slowdown)
        os.write(told, f"up {box.name}\n".encode())

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reply: dict[str, Any]
        try:
            request = json.loads(await reader.readline() or b"{}")
            reply = {"ok": await switches[request["box"]].do(request)}
        except (ValueError, KeyError, OSError) as error:
            reply = {"error": str(error)}
        with contextlib.suppress(OSError):
            writer.write(json.dumps(reply).encode() + b"\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(serve, path)
    await asyncio.gather(*(boot(number, box) for number, box in enumerate(switches.values())))
    await server.serve_forever()


def main() -> None:
    """Start; what is printed from here on goes to the twin's log."""
    boxes, path = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2]
    told = os.dup(1)
    os.dup2(2, 1)
    if sys.version_info < (3, 12):
        # Later versions do so by themselves: no thread for each of the many short commands.
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    asyncio.run(_main(boxes, path, told))


if __name__ == "__main__":
    main()
