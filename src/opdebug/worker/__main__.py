"""`python -m opdebug.worker`: the host; with `worker FD FD FD`: one worker of a host that cannot fork."""

from __future__ import annotations

import sys

from opdebug.worker.host import host_main, spawned_worker

if sys.argv[1:2] == ["worker"]:
    spawned_worker(sys.argv[2:])
else:
    host_main()
