"""`python -m opdebug.worker`: the host; with `worker FD FD FD`: one worker of a host that cannot fork."""

from __future__ import annotations

import os
import sys

from opdebug.worker.host import host_main, spawned_worker

# A torch.py in the current directory must not stand in for torch; the user's own modules there are still found.
if sys.path[:1] in ([""], [os.getcwd()]):
    sys.path.append(sys.path.pop(0))

if sys.argv[1:2] == ["worker"]:
    spawned_worker(sys.argv[2:])
else:
    host_main()
