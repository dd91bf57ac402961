"""The package in docs/extend.md, built and installed as a real one: its risk, dataset, graph and model work by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from recap import (
    RISKS,
    FunctionModel,
    Margins,
    RecapError,
    calibrate,
    compute_risk,
    decide,
    evaluate,
    probe,
    register_risk,
)
from recap.audit import Auditor
from recap.claims import load_graph
from recap.cli.main import app
from recap.datasets import load_dataset
from recap.errors import RecapWarning
from recap.models.contract import Request
from recap.models.load import load_model
from recap.plugins import installed
from recap.policy import load_policy, save_policy
from recap.risks import load_risks, offered, own
from tests.conftest import Ran
from tests.docs.reading import ROOT, blocks
from tests.tables import fields, random_rows, table_of, write

NEEDS = ["direct.image", "image.claim", "image.contradictions"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the page, installed by pip into a folder of its own."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for block in blocks(ROOT / "docs" / "extend.md"):
        if block.language in ("python", "toml"):
            (source / {"python": "blocks.py", "toml": "pyproject.toml"}[block.language]).write_text(block.text)
    graph = resources.files("recap.claims").joinpath("graph.toml").read_text("utf-8")
    (source / "blocks.toml").write_text(
        graph + '\n[relations.stacked_on]\nfamily = "vertical"\nphrases = ["stacked on"]\ncontradictions = ["below"]\n'
    )
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--disable-pip-version-check", "--target", str(target), str(source)], check=True)
    return target


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Makes the packages of a folder known to this process, and forgets them afterwards."""
    before, modules = dict(RISKS), set(sys.modules)

    def known(site: Path) -> None:
        monkeypatch.syspath_prepend(str(site))
        installed.cache_clear()

    yield known
    RISKS.clear()
    RISKS.update(before)
    own._LOADED.clear()
    for name in {"blocks"} & (set(sys.modules) - modules):
        del sys.modules[name]
    monkeypatch.undo()
    installed.cache_clear()


def in_process(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_the_example_is_short() -> None:
    [module] = [block for block in blocks(ROOT / "docs" / "extend.md") if block.language == "python"]
    assert len([line for line in module.text.splitlines() if line.strip()]) <= 20


def test_everything_in_the_package_works_by_name(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[Path], None], recap: Callable[..., Ran]
) -> None:
    write(random_rows(2, units=60), tmp_path / "table.jsonl")
    # As a user meets it: a process of its own that finds the package on its path.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH")))))
    calibrated = recap("calibrate", "table.jsonl", "--mode", "weakest-link", "--out", "policy.json", cwd=tmp_path)
    assert calibrated.code == 0, calibrated.err
    decided = recap("decide", "table.jsonl", "--policy", "policy.json", cwd=tmp_path)
    assert {line["mode"] for line in decided.lines} == {"weakest-link"}, decided.err
    assert "weakest-link decided (The weaker of the direct answer" in decided.lines[0]["reason"]
    with pytest.raises(RecapError, match='policy.json: mode: "weakest-link" is not a mode'):
        load_policy(tmp_path / "policy.json")  # this process does not have it yet
    use(site)
    monkeypatch.chdir(tmp_path)
    evaluated = in_process(
        "evaluate", "table.jsonl", "--risk", "weakest-link", "--risk", "confidence", "--splits", 2, "--json"
    )
    assert "weakest-link" in json.loads(evaluated.stdout)["risks"]
    probed = in_process("probe", "blocks", "--model", "blocks:any", "--out", "blocks.jsonl")
    assert probed.exit_code == 0, probed.output
    rows = [json.loads(line) for line in (tmp_path / "blocks.jsonl").read_text().splitlines()]
    assert [(row["direct"]["image"], row["label"]) for row in rows] == [(1.0, "yes"), (-1.0, "no")]
    parsed = in_process("parse", "Is the red block stacked on the blue block?", "--graph", "blocks", "--json")
    assert json.loads(parsed.stdout)["claim"] == "stacked_on"
    assert "recap-blocks 0.1 (blocks:statements)" in in_process("data", "list").stdout


BROKEN = """
[recap.risks]
broken = broken_package:risk
other = json:dumps
[recap.models]
broken = broken_package:model
no = json:__doc__
[recap.datasets]
broken = broken_package:data
no = json:__doc__
[recap.graphs]
broken = json:JSONDecoder
"""


def test_a_package_that_cannot_be_imported_is_one_line(tmp_path: Path, use: Callable[[Path], None]) -> None:
    info = tmp_path / "site" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(BROKEN)
    use(tmp_path / "site")
    table = table_of(*random_rows(2, units=30))
    lost = "of broken 1.0 (broken_package:{}) cannot be loaded: ModuleNotFoundError"
    for ask, message in (
        (lambda: compute_risk(table, "broken"), f'the entry point "broken" in recap.risks {lost.format("risk")}'),
        (lambda: compute_risk(table, "other"), "of broken 1.0 (json:dumps) registers no risk of that name"),
        (lambda: load_model("broken"), lost.format("model")),
        (lambda: load_model("no"), "is no function that loads a model"),
        (lambda: load_dataset("broken"), lost.format("data")),
        (lambda: load_dataset("no"), "is no function that gives statements"),
        (lambda: load_graph("broken"), "is neither a graph nor the path of its file"),
    ):
        with pytest.raises(RecapError) as raised:
            ask()
        assert message in str(raised.value)
    with pytest.warns(RecapWarning) as warned:  # the others go on
        assert "confidence" in offered(table)[0]
    assert len(warned) == 2


@pytest.mark.usefixtures("use")
def test_a_registered_risk_is_a_mode_in_tables_files_and_audits(tmp_path: Path) -> None:
    @register_risk("text-lead", needs=["direct.image", "image.claim", "text.claim"])
    def text_lead(m: Margins) -> np.ndarray:
        """How much of the claim's margin needs no image."""
        return np.where(m.yes, 1, -1) * (m.text.claim - m.image.claim)

    table = probe("world:whatsup", "world:aligned", probes="cal", limit=80, progress=False).table
    policy = calibrate(table, tmp_path / "p.json", mode="text-lead")
    assert policy.mode == "text-lead"
    again = load_policy(tmp_path / "p.json")
    decisions = {each.id: each for each in decide(again, table)}
    accepted = sum(each.accepted for each in decisions.values())
    assert accepted / len(table) == pytest.approx(0.8, abs=0.05)
    # An audit asks for the text probes that the risk declares, and decides as the table does.
    auditor = Auditor.load("world:aligned", policy=again, any_picture=True)
    for row in table.rows[:6]:
        said = f"{row.subject} {row.relation}"
        [asked] = [
            p.question
            for p in auditor.audit(row.image or "", _question(row.subject, row.relation, row.object)).probes
            if p.role == "direct"
        ]
        verdict = auditor.audit(row.image or "", asked)
        assert verdict.risk == pytest.approx(decisions[row.id].risk, abs=1e-4), said
        assert {probe.view for probe in verdict.probes} == {"image", "text"}
    save_policy(again, tmp_path / "q.json")
    assert (tmp_path / "q.json").read_bytes() == (tmp_path / "p.json").read_bytes()


def _question(subject: str, relation: str, obj: str) -> str:
    from recap.probes import question

    return question(subject, relation, obj)


@pytest.mark.usefixtures("use")
def test_what_a_risk_gets_wrong_is_one_line() -> None:
    table = table_of(*random_rows(1, units=10))
    for name, needs, message in (
        ("confidence", NEEDS, '"confidence" is a name that RECAP has itself'),
        ("Bad Name", NEEDS, '"Bad Name" cannot name a risk'),
        ("answers", NEEDS, '"answers" is a name that RECAP has itself'),
        ("", NEEDS, "cannot name a risk"),
        ("-x", NEEDS, "cannot name a risk"),
        ("a\nb", NEEDS, "cannot name a risk"),
        ("grün", NEEDS, "cannot name a risk"),
        (7, NEEDS, "a risk has a name: .* and this is a int"),
        (lambda m: m.direct, NEEDS, "a risk has a name: .* and this is a function"),
        ("mine", "direct.image", r'risk mine: needs is a list of names such as needs=\["direct.image"\]'),
        ("mine", [1], "risk mine: needs is a list of names"),
        ("mine", None, "risk mine: needs is a list of names"),
        ("mine", ["image.claims"], '"image.claims" is not an input of a risk; did you mean "image.claim"'),
    ):
        with pytest.raises(RecapError, match=message):
            register_risk(name, needs=needs)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RecapError) as raised:
        register_risk("mine", needs=["no such input"])
    listed = str(raised.value).partition("(")[2].rstrip(")").split(", ")
    assert listed == sorted(listed)
    assert len(listed) > 5
    with pytest.raises(RecapError, match="risk mine: a function is registered, and this is a str"):
        register_risk("mine", needs=NEEDS)("no function")  # pyright: ignore[reportArgumentType]
    with pytest.raises(RecapError, match="risk mine: about is a int"):
        register_risk("mine", needs=NEEDS, about=3)  # pyright: ignore[reportArgumentType]

    def undocumented(m: Margins) -> np.ndarray:
        return m.direct

    undocumented.__doc__ = "  \n "
    register_risk("undocumented", needs=iter(NEEDS))(undocumented)  # pyright: ignore[reportArgumentType]
    assert (RISKS["undocumented"].about, RISKS["undocumented"].needs) == ("a risk of one's own", tuple(NEEDS))
    register_risk("short", needs=NEEDS)(lambda m: m.direct[:1])
    register_risk("undefined", needs=NEEDS)(lambda m: m.direct * np.nan)
    register_risk("broken", needs=NEEDS)(lambda m: m.nothing)
    register_risk("left", needs=NEEDS, families=["left_right"])(lambda m: m.direct)
    register_risk("ranked", needs=NEEDS, calibrated=True)(lambda m, c: m.direct - c.direct.mean())
    for name, message in (
        ("short", r"risk short gave an array of shape \(1,\) for \d+ rows"),
        ("undefined", 'table.jsonl: "r0": risk undefined is nan, and must be a finite number'),
        ("broken", "risk broken failed: AttributeError"),
    ):
        with pytest.raises(RecapError, match=message):
            compute_risk(table, name)
    assert np.isfinite(compute_risk(table, "ranked")).any()
    for name, message in (("left", "speaks of some families only"), ("ranked", "reads the calibration rows")):
        with pytest.raises(RecapError, match=f"risk {name} {message}.*cannot be a mode"):
            calibrate(table, mode=name)
    register_risk("mine", needs=NEEDS)(lambda m: m.direct)
    with pytest.raises(RecapError, match="needs margins.image.right_of, which is missing"):
        compute_risk(table_of(fields("a", margins={"image": {"left_of": 1.0}})), "mine")
    assert "mine" in load_risks()


def test_a_function_is_a_model(tmp_path: Path) -> None:
    seen: list[tuple[bool, int]] = []

    def ask(image: object, questions: tuple[str, ...]) -> list[float]:
        seen.append((image is not None, len(questions)))
        return [float(len(question)) for question in questions]

    model = FunctionModel(ask, "lengths")
    found = probe("world:whatsup", model, probes="cal", limit=8, store=tmp_path / "m.db", progress=False)
    assert {shown for shown, _ in seen} == {True, False}
    assert found.rows[0].direct.image is not None
    count = len(seen)
    probe(
        "world:whatsup", FunctionModel(ask, "lengths"), probes="cal", limit=8, store=tmp_path / "m.db", progress=False
    )
    assert len(seen) == count  # the store knows it
    probe(
        "world:whatsup",
        FunctionModel(ask, "lengths", "2"),
        probes="cal",
        limit=8,
        store=tmp_path / "m.db",
        progress=False,
    )
    assert len(seen) == 2 * count  # another revision is another model
    with pytest.raises(RecapError, match="model short gave 0 margins for"):
        probe("world:whatsup", FunctionModel(lambda i, q: [], "short"), limit=4, progress=False)


@pytest.mark.usefixtures("use")
def test_families_hold_for_risks_of_the_direct_answer_too() -> None:
    table = table_of(*random_rows(1, units=20, outside=0.3))
    register_risk("left", needs=["direct.image"], families=("left_right",))(lambda m: m.direct)
    defined = np.isfinite(compute_risk(table, "left"))
    assert 0 < defined.sum() < len(table)
    assert (defined == (np.array(table.families) == "left_right")).all()
    none = table.where(np.array(table.families) != "left_right")
    assert offered(none)[1]["left"] == "no row of left_right"
    for families, message in (
        ("left_right", r'risk mine: families is a list of names such as families=\["left_right"\]'),
        (["left_right", 3], "risk mine: families is a list of names"),
        (["left-right"], 'risk mine: "left-right" is not a relation family; did you mean "left_right"'),
        (["left_rigth"], 'risk mine: "left_rigth" is not a relation family; did you mean "left_right"'),
        ([], "risk mine: families is empty"),
        (3, "risk mine: families is a list of names"),
    ):
        with pytest.raises(RecapError, match=message):
            register_risk("mine", needs=NEEDS, families=families)  # pyright: ignore[reportArgumentType]
    # A graph of one's own may have other families; where the table's has not, that is said.
    register_risk("kinship", needs=NEEDS, families=["kinship"])(lambda m: m.direct)
    with pytest.raises(RecapError, match=r'risk kinship: "kinship" is not a relation family \(.*left_right'):
        compute_risk(table, "kinship")
    assert '"kinship" is not a relation family' in offered(table)[1]["kinship"]


@pytest.mark.usefixtures("use")
def test_a_risk_that_fails_is_set_aside_and_the_others_are_evaluated(tmp_path: Path) -> None:
    rows = random_rows(3, units=60, outside=0.2)
    table = table_of(*rows)
    register_risk("nothing", needs=["direct.image"])(lambda m: m.direct * np.nan)
    register_risk("leaving", needs=["direct.image"])(lambda m: sys.exit(0))
    register_risk("sometimes", needs=NEEDS, calibrated=True)(
        lambda m, c: m.direct if len(m.direct) == len(c.direct) else m.direct * np.nan
    )
    register_risk("inside", needs=["direct.image"])(lambda m: np.where(m.table.covered, m.direct, np.nan))
    found = evaluate(table, splits=3, progress=False)
    assert {"confidence", "recap-img", "recap"} <= found.inside.keys()
    assert not {"nothing", "leaving", "sometimes"} & (found.inside.keys() | found.risks.keys())
    assert "risk nothing is nan, and must be a finite number" in found.withheld["nothing"]
    assert found.withheld["leaving"] == "risk leaving failed: SystemExit: 0"
    assert "risk sometimes is nan" in found.withheld["sometimes"]
    assert found.withheld["inside"].startswith("on all statements: ")
    assert "inside" in found.inside
    with pytest.raises(RecapError, match="risk nothing is nan"):
        evaluate(table, risks=["nothing"], splits=3, progress=False)
    write(rows, tmp_path / "t.jsonl")
    told = in_process("evaluate", tmp_path / "t.jsonl", "--splits", 2)
    assert told.exit_code == 0
    assert "leaving (risk leaving failed: SystemExit: 0)" in " ".join(told.stdout.split())


LEAVING = """
import sys

def leave(*_, **__):
    sys.exit(3)

def model(name, **options):
    from recap import FunctionModel
    return FunctionModel(leave, name)

def records(root=None):
    yield {"image": "a.jpg", "question": "Is the mug on the table?"}
    leave()
"""
LEAVING_POINTS = """
[recap.models]
leaving = leaving:leave
asked = leaving:model
[recap.datasets]
leaving = leaving:leave
midway = leaving:records
[recap.graphs]
leaving = leaving:leave
"""


def test_code_of_others_that_ends_the_process_is_one_line(
    tmp_path: Path, use: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch, recap: Callable[..., Ran]
) -> None:
    site = tmp_path / "site"
    (site / "leaving-1.0.dist-info").mkdir(parents=True)
    (site / "leaving-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: leaving\nVersion: 1.0\n")
    (site / "leaving-1.0.dist-info" / "entry_points.txt").write_text(LEAVING_POINTS)
    (site / "leaving.py").write_text(LEAVING)
    use(site)
    for ask, message in (
        (lambda: load_model("leaving"), "leaving: cannot load the model: SystemExit: 3"),
        (lambda: load_model("asked").margins([Request(None, ("Is it?",))]), "model asked failed: SystemExit: 3"),
        (lambda: load_dataset("leaving"), "leaving: cannot load the dataset: SystemExit: 3"),
        (lambda: load_dataset("midway"), "midway: cannot load the dataset: SystemExit: 3"),
        (lambda: load_graph("leaving"), "failed: SystemExit: 3"),
    ):
        with pytest.raises(RecapError) as raised:
            ask()
        assert message in str(raised.value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH")))))
    ran = recap("probe", "midway", "--model", "asked", "--out", tmp_path / "t.jsonl")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
