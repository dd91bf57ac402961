from __future__ import annotations

import subprocess
import sys
import time


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_recap_pulls_in_neither_torch_nor_matplotlib() -> None:
    heavy = "('torch', 'transformers', 'matplotlib', 'sklearn', 'scipy', 'numpy', 'polars')"
    assert python(f"import sys, recap; print([m for m in {heavy} if m in sys.modules])") == "[]\n"


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, recap.cli.main; print([m for m in ('numpy', 'pydantic', 'rich', 'polars', 'PIL', 'httpx') if m in sys.modules])"
    assert python(code) == "[]\n"


def test_help_is_quick() -> None:
    def once() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "recap", "--help"], capture_output=True, check=True)
        return time.perf_counter() - start

    # The best of several: the machine may be busy with other tests.
    assert min(once() for _ in range(7)) < 0.3


def test_everything_public_can_be_imported() -> None:
    assert python("import recap; print(all(getattr(recap, name) is not None for name in recap.__all__))") == "True\n"
    assert python("import recap; print(set(recap.__all__) <= set(dir(recap)))") == "True\n"


def test_parsing_a_question_needs_no_torch() -> None:
    code = (
        "import contextlib, io, sys; sys.argv = ['recap', 'parse', 'Is the mug left of the lamp?']\n"
        "from recap.cli.main import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): main()\n"
        "print([m for m in ('torch', 'transformers', 'polars', 'scipy', 'sklearn') if m in sys.modules])"
    )
    assert python(code) == "[]\n"
