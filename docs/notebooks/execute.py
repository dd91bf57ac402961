"""Executes the notebooks of this folder, each in a folder of its own that is thrown away.

python docs/notebooks/execute.py            # do they run, and do they still print what is stored?
python docs/notebooks/execute.py --write    # store what they print
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))
ABSOLUTE = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|Users|usr|opt)/")
"""paths of somebody's machine"""


def execute(path: Path) -> Any:
    """The notebook with fresh outputs; a cell that fails is an error."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:  # nothing that differs from machine to machine: what libraries say on stderr does
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = joined(each for each in cell.outputs if each.get("name") != "stderr")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def joined(outputs: Iterable[Any]) -> list[Any]:
    """What is printed comes in one piece or in several, as the machine has time: one piece is stored."""
    found: list[Any] = []
    for each in outputs:
        if found and each.output_type == found[-1].output_type == "stream":
            found[-1].text += each.text
        else:
            found.append(each)
    return found


def shape(notebook: Any) -> list[list[tuple[str, ...]]]:
    """Which kinds of output each cell has: figures may differ in the last digit between machines, kinds may not."""
    return [
        [(each.output_type, *sorted(each.get("data", {}))) for each in joined(cell.outputs)]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def main() -> int:
    """Execute all, or those named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="store the outputs")
    parser.add_argument("names", nargs="*", help="only these notebooks")
    options = parser.parse_args()
    failed = 0
    for path in NOTEBOOKS:
        if options.names and path.stem not in options.names:
            continue
        start = time.monotonic()
        fresh = execute(path)
        text = nbformat.writes(fresh)
        problem = ""
        if found := ABSOLUTE.search(text):
            problem = f"it names a path of this machine: {text[max(0, found.start() - 40) : found.end() + 40]!r}"
        elif options.write:
            path.write_text(text + "\n", "utf-8")
        elif shape(fresh) != shape(nbformat.read(path, as_version=4)):
            problem = "its outputs are not those that are stored (make notebooks stores them)"
        failed += bool(problem)
        print(f"{path.name}: {problem or 'ok'}, {time.monotonic() - start:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
