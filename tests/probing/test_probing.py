from __future__ import annotations

import contextlib
import gc
import random
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from recap.claims import default_graph
from recap.images import image_stamp
from recap.models.contract import Identity, Request
from recap.policy import calibrate_table, decide, save_policy
from recap.probes import View
from recap.probing import Item, plan_job, rows_of, run_job
from recap.store import Store
from recap.table import read_table
from tests.conftest import Ran
from tests.models.tiny import picture
from tests.probing.checkpoint import save_checkpoint, save_dataset

Recap = Callable[..., Ran]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_dataset(tmp_path_factory.mktemp("data"), 6)


class Echo:
    """A model that answers from what it is shown, and keeps account of it."""

    identity = Identity("echo", "1", "float32", "none", "tree", "t", ((1,), (2,)), "none")

    padded, preparing = True, 1

    def __init__(self) -> None:
        self.batches: list[list[Request]] = []

    @property
    def forwards(self) -> int:
        return len(self.batches)

    def expect(self, tokens: int) -> None:
        return None

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:
        return 1.0, 1.0

    def prepare(self, requests: list[Request]) -> None:
        return None

    def margins(self, requests: list[Request], prepared: Any = None) -> list[list[float]]:
        self.batches.append(requests)
        shade = [0.0 if r.image is None else float(sum(r.image.convert("L").tobytes())) for r in requests]
        return [[s + len(q) for q in r.questions] for r, s in zip(requests, shade, strict=True)]


def items(images: int = 5) -> list[Item]:
    graph = default_graph()
    texts = (
        "The mug is left of the table.",
        "The mug is right of the table.",
        "The mug is on the table.",
        "The mug is near the table.",
    )
    return [
        Item(f"{i}-{j}", "", f"{i}", f"{i}", graph.parse(text).statement, "yes" if j == 0 else "no")
        for i in range(images)
        for j, text in enumerate(texts)
    ]


def shown(name: str) -> Image.Image:
    return picture(40, 30, int(name))


def flat(image: str | None, questions: int) -> int:
    return 100


def test_statements_about_one_picture_share_a_request() -> None:
    job = plan_job(items(2), "diagnostic", flat, 1000)
    seen = [(e.image, e.view) for batch in job.batches for e in batch]
    assert seen == [("0", View.IMAGE), ("0", View.DEGRADED), ("1", View.IMAGE), ("1", View.DEGRADED), (None, View.TEXT)]
    assert all(len(set(e.questions)) == len(e.questions) for batch in job.batches for e in batch)


def test_batches_keep_to_the_token_budget_and_never_mix() -> None:
    job = plan_job(items(7), "cal", flat, 350)
    assert [len(batch) for batch in job.batches] == [3, 3, 1, 1]
    assert all(len({e.image is None for e in batch}) == 1 for batch in job.batches)


def by_picture(image: str | None, questions: int) -> int:
    return 10 if image is None else (100, 30, 90, 40, 80)[int(image)]


def test_padded_batches_hold_pictures_of_like_sizes_and_keep_a_pictures_views_together() -> None:
    job = plan_job(items(5), "diagnostic", by_picture, 200)
    pictures = [[e.image for e in batch] for batch in job.batches if batch[0].image is not None]
    assert pictures == [["1", "1", "3", "3"], ["4", "4"], ["2", "2"], ["0", "0"]]
    assert job.tokens == 2 * (100 + 30 + 90 + 40 + 80) + 10 * sum(b[0].image is None for b in job.batches) * len(
        job.batches[-1]
    )


def test_packed_batches_hold_the_sum_of_their_sizes_in_the_jobs_order() -> None:
    job = plan_job(items(5), "cal", by_picture, 230, padded=False)
    assert [[e.image for e in batch] for batch in job.batches] == [["0", "1", "2"], ["3", "4"], [None]]


def test_the_first_batches_of_a_large_budget_are_small() -> None:
    job = plan_job(items(5), "img", lambda _image, _questions: 6000, 24000, padded=False)
    assert [len(batch) for batch in job.batches] == [1, 2, 2]
    assert plan_job(items(5), "img", lambda _image, _questions: 6000, 24000).batches[0][3:]


def test_many_threads_prepare_and_the_order_stays() -> None:
    job = plan_job(items(12), "img", flat, 100)
    with Store(":memory:") as store:
        alone = run_job(job, Echo(), store, shown)
    model = Echo()
    model.preparing = 3
    with Store(":memory:") as store:
        together = run_job(job, model, store, shown)
    assert together.margins == alone.margins
    assert [len(batch) for batch in model.batches] == [len(batch) for batch in job.batches]
    asked = [request.questions for batch in model.batches for request in batch]
    assert asked == [entry.questions for batch in job.batches for entry in batch]


def test_rows_hold_what_was_asked() -> None:
    job = plan_job(items(3), "diagnostic", flat, 1000)
    with Store(":memory:") as store:
        run = run_job(job, Echo(), store, shown)
    rows = rows_of(job, run, "echo", default_graph())
    assert [row.id for row in rows] == [each.id for each in job.items]
    on = rows[2]
    assert set(on.margins) == {"image", "text", "degraded"}
    assert set(on.margins["image"] or {}) == {"on", "below", "above"}
    assert on.direct.image == on.margin("image", "on")
    assert on.direct.text is not None
    assert (rows[3].claim, rows[3].margins) == (None, {})


def test_what_is_stored_is_not_asked_again() -> None:
    job = plan_job(items(4), "img", flat, 250)
    with Store(":memory:") as store:
        first, second = Echo(), Echo()
        one, two = run_job(job, first, store, shown), run_job(job, second, store, shown)
    assert (one.computed, one.found) == (job.probes, 0)
    assert (two.computed, two.found, second.forwards) == (0, job.probes, 0)
    assert one.margins == two.margins


def test_a_picture_seen_before_is_opened_only_if_it_must_be_shown(tmp_path: Path) -> None:
    job = plan_job(items(4), "diagnostic", flat, 250)
    opened: list[str] = []

    def watched(name: str) -> Image.Image:
        opened.append(name)
        return shown(name)

    def stamp(name: str) -> str:
        return f"{name} unchanged"

    with Store(tmp_path / "margins.db") as store:
        one = run_job(job, Echo(), store, watched, stamp=stamp)
        assert set(opened) == {"0", "1", "2", "3"}
        opened.clear()
        two = run_job(job, Echo(), store, watched, stamp=stamp)
        assert (opened, two.margins, two.computed) == ([], one.margins, 0)
        # A picture that has changed since is opened, and what it now shows is asked.
        three = run_job(
            job, Echo(), store, lambda name: picture(40, 30, 10 + int(name)), stamp=lambda name: f"{name} changed"
        )
    assert three.computed == sum(len(e.questions) for batch in job.batches for e in batch if e.image is not None)
    assert three.margins != one.margins


def test_the_stamp_of_a_file_changes_with_it(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    picture(20, 20, 1).save(file)
    first = image_stamp(str(file))
    assert first == image_stamp(str(file))
    picture(21, 20, 2).save(file)
    assert image_stamp(str(file)) != first
    assert image_stamp(str(tmp_path / "nowhere.png")) is None
    assert image_stamp("world:whatsup/0003") != image_stamp("world:whatsup/0004")


def test_a_batch_is_asked_whole_whatever_is_stored_already() -> None:
    whole = plan_job(items(4), "img", flat, 250)
    part = plan_job(items(1), "img", flat, 250)
    with Store(":memory:") as store:
        run_job(part, Echo(), store, shown)
        model = Echo()
        run_job(whole, model, store, shown)
    fresh = Echo()
    with Store(":memory:") as store:
        run_job(whole, fresh, store, shown)
    assert [[len(r.questions) for r in b] for b in model.batches] == [
        [len(r.questions) for r in b] for b in fresh.batches
    ]


def test_a_picture_that_cannot_be_shown_is_set_aside() -> None:
    from recap.errors import RecapError

    def fails(name: str) -> Image.Image:
        if name == "1":
            raise RecapError("1: this is not an image")
        return shown(name)

    job = plan_job(items(3), "img", flat, 1000)
    with Store(":memory:") as store:
        run = run_job(job, Echo(), store, fails)
    assert run.failed == {"1": "1: this is not an image"}
    assert {row.image for row in rows_of(job, run, "echo", default_graph())} == {"0", "2"}


def test_no_more_than_two_batches_of_pictures_are_held() -> None:
    opened: list[weakref.ref[Image.Image]] = []
    alive: list[int] = []

    def counted(name: str) -> Image.Image:
        gc.collect()
        alive.append(sum(each() is not None for each in opened))
        image = picture(41, 31, int(name))
        opened.append(weakref.ref(image))
        return image

    class Forgetful(Echo):
        def margins(self, requests: list[Request], prepared: Any = None) -> list[list[float]]:
            return [[0.0] * len(r.questions) for r in requests]

    job = plan_job(items(40), "img", flat, 200)
    with Store(":memory:") as store:
        run_job(job, Forgetful(), store, counted)
    assert max(alive) <= 2 * 2


# The commands, on a real checkpoint


def test_probe_calibrate_decide_and_audit_tell_one_story(
    recap: Recap, checkpoint: Path, dataset: Path, tmp_path: Path
) -> None:
    table = tmp_path / "table.jsonl"
    ran = recap("probe", dataset, "--model", checkpoint, "--out", table, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["statements"] == 24
    assert ran.json["scoring"] == "tree"
    policy = calibrate_table(read_table(table), 0.5)
    save_policy(policy, tmp_path / "policy.json")
    decisions = {d.id: d for d in decide(policy, read_table(table))}
    audited = recap(
        "audit",
        dataset.parent / "2.png",
        "Is the mug to the right of the table?",
        "--model",
        checkpoint,
        "--policy",
        tmp_path / "policy.json",
        "--json",
    )
    assert audited.code == 0, audited.err
    assert audited.json["accepted"] == decisions["2-1"].accepted
    assert audited.json["risk"] == pytest.approx(decisions["2-1"].risk, abs=1e-4)
    assert [p["role"] for p in audited.json["probes"]] == ["direct", "claim", "contradiction"]
    plain = recap("audit", dataset.parent / "2.png", "Is the mug on the table?", "--model", checkpoint, "--plain")
    assert "not calibrated" in plain.out


def test_a_stored_run_is_repeated_byte_for_byte(recap: Recap, checkpoint: Path, dataset: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    first = recap(
        "probe",
        dataset,
        "--model",
        checkpoint,
        "--store",
        store,
        "--probes",
        "diagnostic",
        "--out",
        tmp_path / "a.jsonl",
        "--json",
    )
    again = recap(
        "probe",
        dataset,
        "--model",
        checkpoint,
        "--store",
        store,
        "--probes",
        "diagnostic",
        "--out",
        tmp_path / "b.jsonl",
        "--json",
    )
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert first.json["cache_hits"] == 0
    assert again.json["cache_hits"] == again.json["probes"]
    fewer = recap(
        "probe", dataset, "--model", checkpoint, "--store", store, "--limit", "5", "--out", tmp_path / "c.jsonl"
    )
    assert "5 statements" in fewer.out


def test_bad_pictures_are_named_and_the_rest_is_written(recap: Recap, checkpoint: Path, tmp_path: Path) -> None:
    data = save_dataset(tmp_path / "d", 4)
    (tmp_path / "d" / "1.png").write_bytes(b"no image")
    (tmp_path / "d" / "3.png").unlink()
    ran = recap("probe", data, "--model", checkpoint, "--out", tmp_path / "t.jsonl")
    assert ran.code == 2
    assert "1.png: this is not an image" in ran.err
    assert "3.png: cannot read the image: no such file" in ran.err
    assert len(read_table(tmp_path / "t.jsonl")) == 8


def test_real_photographs_are_found_in_a_flat_folder(
    recap: Recap, checkpoint: Path, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "wu.jsonl"
    ran = recap("probe", "whatsup", "--root", data / "whatsup", "--model", checkpoint, "--out", out)
    assert ran.code == 2  # most of the 820 pictures are not there
    assert "… and 787 more pictures that cannot be shown" in ran.err
    table = read_table(out)
    assert len(table) == 13 * 4
    assert {row.label for row in table.rows} == {"yes", "no"}
    assert all(row.image == row.unit and row.image.startswith("data/controlled_") for row in table.rows)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["audit", "0.png", "What is this?", "--model", "x"], "no spatial relation found"),
        (["audit", "none.png", "Is the mug on the table?", "--model", "x"], "cannot read the image: no such file"),
        (["audit", "0.png", "Is the mug on the table?", "--model", "no/such/model"], "no/such/model: there is no such folder (a name on the hub looks like"),
        (["audit", "0.png", "Is the mug on the table?", "--model", "CHECKPOINT", "--answer", "maybe"], 'the answer to audit is "maybe"'),
        (["audit", "0.png", "Is the mug on the table?", "--model", "CHECKPOINT", "--dtype", "int4"], '"int4" is not a dtype'),
        (["probe", "questions.jsonl", "--model", "x", "--out", "t.jsonl", "--probes", "most"], '"most" is not a probe set'),
        (["probe", "questions.jsonl", "--model", "CHECKPOINT", "--out", "t.jsonl", "--store", "questions.jsonl"], "cannot open the store"),
        (["bench", "--arch", "huge"], '"huge" is not a shape'),
    ],
)  # fmt: skip
def test_a_wrong_word_ends_in_one_line(
    recap: Recap, checkpoint: Path, dataset: Path, arguments: list[str], problem: str
) -> None:
    ran = recap(*[str(checkpoint) if a == "CHECKPOINT" else a for a in arguments], cwd=dataset.parent)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert ran.err.count("\n") == 1
    assert not (dataset.parent / "t.jsonl").exists()


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    """A probing run killed at random moments, over and over, ends with the table of a run that was left alone."""
    checkpoint, data = save_checkpoint(tmp_path / "m"), save_dataset(tmp_path / "d", 60)
    worker = Path(__file__).with_name("killed_worker.py")

    def command(store: Path, out: Path) -> list[str]:
        return [sys.executable, str(worker), str(checkpoint), str(data), str(store), str(out)]

    subprocess.run(command(tmp_path / "calm.db", tmp_path / "calm.jsonl"), check=True)
    wild, table = tmp_path / "wild.db", tmp_path / "wild.jsonl"
    rng, kills, seen = random.Random(0), 0, 0
    stack = contextlib.ExitStack()
    serve = [*command(wild, table), "--serve"]
    server = stack.enter_context(subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    assert server.stdin is not None
    assert server.stdout is not None
    while kills < 200:
        server.stdin.write("go\n")
        server.stdin.flush()
        child = int(server.stdout.readline())
        time.sleep(rng.uniform(0.0, 0.25))
        server.stdin.write(f"kill {child} {int(signal.SIGKILL)}\n")
        server.stdin.flush()
        server.stdout.readline()
        kills += 1
        with Store(wild) as store:
            assert len(store) >= seen
            seen = len(store)
        if table.exists():
            # The run got through: start over on an empty store, so that every kill meets work.
            assert table.read_bytes() == (tmp_path / "calm.jsonl").read_bytes()
            table.unlink()
            for path in tmp_path.glob("wild.db*"):
                path.unlink()
            seen = 0
    stack.close()
    subprocess.run(command(wild, table), check=True)
    assert table.read_bytes() == (tmp_path / "calm.jsonl").read_bytes()
    with Store(wild) as store, Store(tmp_path / "calm.db") as calm:
        assert len(store) == len(calm)


def test_rows_that_cannot_be_read_are_named_and_the_rest_is_written(
    recap: Recap, checkpoint: Path, tmp_path: Path
) -> None:
    data = save_dataset(tmp_path / "d", 2)
    with data.open("a") as stream:
        stream.write('{"image": "0.png", "question": "Is the man on the phone?"}\n')
        stream.write('{"image": "0.png", "question": "What is this?"}\n' * 25)
    ran = recap("probe", data, "--model", checkpoint, "--out", tmp_path / "t.jsonl", "--json")
    assert (ran.code, ran.json["statements"], len(ran.json["unread"])) == (2, 8, 26)
    assert f'{data}:9: no spatial relation found in "Is the man on the phone?"' in ran.err
    assert "… and 6 more rows that cannot be read" in ran.err
    assert len(read_table(tmp_path / "t.jsonl")) == 8


def test_python_probes_as_the_command_does(recap: Recap, checkpoint: Path, dataset: Path, tmp_path: Path) -> None:
    import recap as package

    said = ["probe", dataset, "--model", checkpoint, "--probes", "cal", "--wording", "verbatim", "--limit", "6"]
    ran = recap(*said, "--out", tmp_path / "a.jsonl", "--json")
    found = package.probe(dataset, str(checkpoint), out=tmp_path / "b.jsonl", probes="cal", wording="verbatim", limit=6)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    changing = {"probes_per_second"}
    assert {k: v for k, v in ran.json.items() if k not in changing} == {
        k: v for k, v in found.to_json().items() if k not in changing
    }
    assert len(found.table) == 6
    from recap.models.load import load_model

    again = package.probe(dataset, load_model(str(checkpoint)), probes="cal", wording="verbatim", limit=6)
    assert [row.direct for row in again.rows] == [row.direct for row in found.rows]
