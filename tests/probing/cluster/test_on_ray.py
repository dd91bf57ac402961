"""The same job on Ray, with real workers: processes of their own that load a real checkpoint."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

import pytest

from recap.datasets import load_dataset
from recap.datasets.probing import Probing, probe_items
from recap.errors import RecapError
from recap.models import LikelihoodModel
from recap.models.load import load_model
from recap.probing import Engine, LocalEngine
from recap.store import Store
from recap.table import write_table
from tests.conftest import Ran
from tests.models.remote.server import Server, serving
from tests.probing.checkpoint import save_dataset
from tests.probing.cluster.loading import noted, small, unlike_the_first

pytest.importorskip("ray", reason="Ray is not installed: pip install 'recap-vlm[ray]'")
from recap.probing.cluster.engine import RayEngine, session

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")]
IMAGES = 40
Recap = Callable[..., Ran]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_dataset(tmp_path_factory.mktemp("data"), IMAGES)


@pytest.fixture(scope="module")
def calm(checkpoint: Path, dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of one model in this process."""
    with Store(":memory:") as store:
        return table(probe(LocalEngine(small(str(checkpoint))), dataset, store), tmp_path_factory.mktemp("calm"))


@pytest.fixture(scope="module")
def ray_here() -> Generator[None]:
    """One Ray for all tests: its start is the slow part."""
    with session(workers=3):
        yield


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    folder = tmp_path / "pids"
    folder.mkdir()
    return folder


def probe(engine: Engine, dataset: Path, store: Store, progress: Callable[[int, int], None] = lambda _d, _o: None) -> Probing:  # fmt: skip
    items = load_dataset(str(dataset)).items
    return probe_items(items, engine, store, probes="diagnostic", folder=dataset.parent, progress=progress)


def on_ray(load: Callable[[], LikelihoodModel], workers: int) -> RayEngine:
    with session(workers=workers) as pool:  # joins the Ray that runs
        return RayEngine(load, pool)


def table(found: Probing, folder: Path) -> bytes:
    write_table(found.rows, folder / "table.jsonl")
    return (folder / "table.jsonl").read_bytes()


def processes(folder: Path) -> set[int]:
    return {int(path.name) for path in folder.iterdir()}


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_table_is_the_local_one_byte_for_byte(
    ray_here: None, checkpoint: Path, dataset: Path, calm: bytes, tmp_path: Path, pids: Path, workers: int
) -> None:
    engine = on_ray(partial(noted, str(pids), partial(small, str(checkpoint))), workers)
    with Store(tmp_path / "margins.db") as store:
        found = probe(engine, dataset, store)
        assert len(store) == found.ran.computed
    assert table(found, tmp_path) == calm
    assert found.ran.forwards > 30
    assert len(processes(pids)) == 1 + workers  # the first only says who speaks


def test_a_worker_killed_mid_run_changes_nothing(
    ray_here: None,
    checkpoint: Path,
    dataset: Path,
    calm: bytes,
    tmp_path: Path,
    pids: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    engine = on_ray(partial(noted, str(pids), partial(small, str(checkpoint))), 2)
    (scout,) = processes(pids)
    killed: list[int] = []

    def kill(done: int, of: int) -> None:
        if not killed and of // 4 <= done < of // 2:
            victim = min(processes(pids) - {scout})
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    with Store(tmp_path / "margins.db") as store:
        found = probe(engine, dataset, store, kill)
    assert table(found, tmp_path) == calm
    assert len(killed) == 1
    assert len(processes(pids)) == 4  # the first, two workers, and the one that took the dead one's place
    assert found.ran.computed == len(found.ran.margins)
    assert capfd.readouterr() == ("", "")


def test_a_run_that_was_stopped_goes_on_from_the_store(
    ray_here: None, checkpoint: Path, dataset: Path, calm: bytes, tmp_path: Path
) -> None:
    load = partial(small, str(checkpoint))

    def stop(done: int, of: int) -> None:
        if done >= of // 2:
            raise KeyboardInterrupt

    with Store(tmp_path / "margins.db") as store:
        with pytest.raises(KeyboardInterrupt):
            probe(on_ray(load, 1), dataset, store, stop)
        kept = len(store)
    with Store(tmp_path / "margins.db") as store:
        found = probe(on_ray(load, 2), dataset, store)
    assert table(found, tmp_path) == calm
    assert 0 < kept == found.ran.found
    assert found.ran.computed == len(found.ran.margins) - kept > 0


def test_a_picture_that_cannot_be_shown_is_set_aside_as_locally(
    ray_here: None, checkpoint: Path, tmp_path: Path
) -> None:
    data = save_dataset(tmp_path / "d", 8)
    (tmp_path / "d" / "5.png").write_bytes(b"no image")
    (tmp_path / "d" / "2.png").unlink()
    load = partial(small, str(checkpoint))
    with Store(":memory:") as store:
        here = probe(LocalEngine(load()), data, store)
    with Store(tmp_path / "margins.db") as store:
        there = probe(on_ray(load, 1), data, store)
        assert list(there.ran.failed.items()) == list(here.ran.failed.items())
        assert [Path(image).name for image in there.ran.failed] == ["2.png", "5.png"]
        assert table(there, tmp_path) == table(here, tmp_path)
        # The batches of those pictures go out again, with what is known of them: nothing is asked twice.
        again = probe(on_ray(load, 1), data, store)
    assert (again.ran.computed, again.ran.forwards) == (0, 0)
    assert (again.ran.failed, table(again, tmp_path)) == (there.ran.failed, table(there, tmp_path))


def test_workers_that_would_give_other_margins_are_refused(
    ray_here: None, checkpoint: Path, dataset: Path, tmp_path: Path
) -> None:
    engine = on_ray(partial(unlike_the_first, str(tmp_path), partial(small, str(checkpoint))), 1)
    with Store(tmp_path / "margins.db") as store:
        with pytest.raises(RecapError, match="would give other margins.*libraries: torch 1.0.*not torch 2"):
            probe(engine, dataset, store)
        assert len(store) == 0


def test_workers_may_ask_a_served_model(ray_here: None, tmp_path: Path) -> None:
    items = load_dataset("world:whatsup").items[:12]
    with serving(Server()) as server, Store(":memory:") as one, Store(":memory:") as other:
        load = partial(load_model, server.address)
        here, there = probe_items(items, LocalEngine(load()), one), probe_items(items, on_ray(load, 2), other)
    assert there.ran.computed == here.ran.computed > 20
    assert table(there, tmp_path) == table(here, tmp_path)


def test_more_workers_than_there_is_room_for_are_refused(ray_here: None) -> None:
    with pytest.raises(RecapError, match="2 × 0.5 GPU for the workers, but Ray has 0 in all"), session(None, 2, 0.5):
        pass
    with pytest.raises(RecapError, match="4000 × 1 core"), session(workers=4000):
        pass


# The command: a Ray of its own, in silence


def test_the_command_gives_the_local_table_and_leaves_nothing_behind(
    recap: Recap, checkpoint: Path, dataset: Path, tmp_path: Path
) -> None:
    before = set(Path("/tmp").glob("recap-ray-*"))
    arguments = ("probe", dataset, "--model", checkpoint, "--limit", 40, "--json")
    local = recap(*arguments, "--out", tmp_path / "local.jsonl")
    ray = recap(*arguments, "--out", tmp_path / "ray.jsonl", "--engine", "ray", "--workers", 2)
    assert (ray.code, ray.err) == (0, local.err)  # Ray itself says nothing
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()
    assert ray.json | {"probes_per_second": 0} == local.json | {"probes_per_second": 0}
    assert set(Path("/tmp").glob("recap-ray-*")) <= before


def test_a_model_that_cannot_be_loaded_ends_in_one_line(recap: Recap, dataset: Path, tmp_path: Path) -> None:
    ran = recap("probe", dataset, "--model", "no/such/model", "--out", tmp_path / "t.jsonl", "--engine", "ray")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "no/such/model: there is no such folder" in ran.err


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("127.0.0.1:1", "cannot reach a Ray cluster at 127.0.0.1:1: connection refused"),
        ("ray://127.0.0.1:10001", "Ray Data does not run over Ray Client; run recap on a machine of the cluster"),
        ("the cluster", '"the cluster" is not the address of a Ray cluster: auto, or HOST:6379'),
    ],
)
def test_a_cluster_that_cannot_be_reached_ends_in_one_line(
    recap: Recap, dataset: Path, tmp_path: Path, address: str, problem: str
) -> None:
    out = tmp_path / "t.jsonl"
    ran = recap("probe", dataset, "--model", "x", "--out", out, "--engine", "ray", "--address", address)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert problem in ran.err
