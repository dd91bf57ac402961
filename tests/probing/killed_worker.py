"""Probes a dataset into a store. With --serve it loads the model once and forks a fresh run whenever it is told to.

Loading takes seconds and a run a fraction of one: a fork is the same process image, and dies of SIGKILL just as well.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import torch
import transformers

from recap.claims import default_graph
from recap.datasets import load_dataset
from recap.images import open_picture
from recap.models.local import LocalModel
from recap.probing import plan_job, rows_of, run_job
from recap.store import Store
from recap.table import write_table

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
checkpoint, data, kept, out = sys.argv[1:5]
model = LocalModel.load(checkpoint)
graph = default_graph()
folder = Path(data).parent
job = plan_job(
    load_dataset(data).items, "diagnostic", lambda _, n: 100, 300, graph, locate=lambda image: str(folder / image)
)


def run() -> None:
    with Store(kept) as store:
        done = run_job(job, model, store, open_picture)
    write_table(rows_of(job, done, str(model.identity), graph), out)


if "--serve" not in sys.argv:
    run()
    sys.exit()
for line in sys.stdin:
    if line.startswith("go"):
        child = os.fork()
        if child == 0:
            run()
            os._exit(0)
        print(child, flush=True)
    else:
        _, pid, number = line.split()
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), int(number))
        os.waitpid(int(pid), 0)
        print("dead", flush=True)
