"""Logs that the real tools wrote (`make_logs.py`) become rows: their margins, answers, labels and pictures, and no more."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recap as package
from recap import RecapError, import_log, probe, read_table
from recap.datasets.completing import missing_probes
from recap.datasets.logs.sample import answer_in, margin_of, truth
from tests.datasets.make_logs import STATEMENTS, logits

LOGS = Path(__file__).parent / "logs"
CHOICE = LOGS / "samples_spatial_choice_2026-01-01T00-00-00.000000.jsonl"
GENERATE = LOGS / "samples_spatial_generate_2026-01-01T00-00-00.000000.jsonl"
WORDS = LOGS / "2026-01-01T00-00-00.000000_samples_spatial_words.jsonl"
SPATIAL = [(image, question, label) for image, question, label in STATEMENTS if "colour" not in question]
RELATIONS = ["on", "left_of", "below", "right_of", "behind"]

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("harness", "path"),
    [
        ("lm-eval", CHOICE),
        ("lm-eval", GENERATE),
        ("lmms-eval", WORDS),
        ("inspect", LOGS / "inspect.eval"),
        ("inspect", LOGS / "inspect.json"),
    ],
)
def test_a_log_of_the_real_tool_keeps_statement_label_and_order(harness: str, path: Path) -> None:
    found = import_log(harness, path)
    assert [row.relation for row in found.rows] == RELATIONS
    assert [row.label for row in found.rows] == [label for _, _, label in SPATIAL]
    assert [(row.model_extra or {})["question"] for row in found.rows] == [question for _, question, _ in SPATIAL]
    assert len({row.unit for row in found.rows}) == 2
    [left_out] = found.unread
    assert "What colour is the lamp?" in left_out
    assert left_out.startswith(f"{path}:5: no spatial relation found")


def test_log_likelihoods_are_margins() -> None:
    found = import_log("lm-eval", CHOICE)
    prompts = [f"Question: {question} Answer:" for _, question, _ in SPATIAL]
    assert [row.direct.image for row in found.rows] == pytest.approx([logits(p)[0] - logits(p)[1] for p in prompts])
    assert [row.image for row in found.rows] == [image for image, _, _ in SPATIAL]
    assert found.missing == {"image.claim": 5, "image.contradictions": 5, "image.supports": 1}


def test_answers_in_words_are_kept_as_answers() -> None:
    for harness, path, prompt in (
        ("lm-eval", GENERATE, "Question: {} Answer:"),
        ("lmms-eval", WORDS, "{}\nAnswer the question with yes or no."),
    ):
        rows = import_log(harness, path).rows
        expected = ["yes" if logits(prompt.format(q))[0] > logits(prompt.format(q))[1] else "no" for _, q, _ in SPATIAL]
        assert [row.answer for row in rows] == expected
        assert {row.direct.image for row in rows} == {None}


@pytest.mark.parametrize("form", ["eval", "json"])
def test_inspects_log_probabilities_are_margins_where_both_words_are_there(form: str) -> None:
    found = import_log("inspect", LOGS / f"inspect.{form}")
    for row, (_, question, _) in zip(found.rows, SPATIAL, strict=True):
        yes, no = logits(question)
        if "below" in question:  # the log names one of the two only
            assert (row.direct.image, row.answer) == (None, "yes" if yes > no else "no")
        else:
            assert row.direct.image == pytest.approx(math.log(math.exp(yes) + math.exp(yes - 3)) - no)
        assert (row.model_extra or {})["harness_model"] == "made-up/made-up"
    assert any("only one of yes and no" in note for note in found.notes)
    assert any("--pictures DIR would write it" in note for note in found.notes)


def test_pictures_inside_a_log_are_written_once(tmp_path: Path) -> None:
    found = import_log("inspect", LOGS / "inspect.eval", pictures=tmp_path / "pictures")
    assert len({row.image for row in found.rows}) == 2
    contents = {path.read_bytes() for path in (tmp_path / "pictures").iterdir()}
    assert contents == {(LOGS / image).read_bytes() for image, _, _ in SPATIAL}


def test_a_picture_may_be_named_by_a_field() -> None:
    rows = import_log("inspect", LOGS / "inspect.json", image="scene", unit="scene").rows
    assert [(row.image, row.unit) for row in rows] == [(image, image) for image, _, _ in SPATIAL]


def test_what_is_missing_is_asked_and_nothing_else(tmp_path: Path) -> None:
    out, full = tmp_path / "imported.csv", tmp_path / "mine.jsonl"
    imported = import_log("lm-eval", CHOICE, out)
    completed = probe(out, "world:aligned", complete=True, images=LOGS, out=tmp_path / "table.jsonl", progress=False)
    assert missing_probes(completed.rows, completed.graph) == {}
    full.write_text(
        "".join(
            json.dumps({"image": i, "question": q, "label": y, "id": f"spatial_choice-{n}"}) + "\n"
            for n, (i, q, y) in enumerate(STATEMENTS)
            if "colour" not in q
        )
    )
    probed = probe(full, "world:aligned", images=LOGS, progress=False)
    for before, after, whole in zip(imported.rows, completed.rows, probed.rows, strict=True):
        assert after.direct == before.direct  # the log's own
        for relation, margin in (whole.margins["image"] or {}).items():
            assert after.margin("image", relation) == pytest.approx(margin, abs=1e-5)
        assert (after.model, after.label, after.id) == (whole.model, before.label, before.id)
    # Once more: nothing is missing, and no model is loaded.
    again = probe(tmp_path / "table.jsonl", "world:aligned", complete=True, progress=False, load=_not_to_be_loaded)
    assert (again.rows, again.ran.done) == (completed.rows, 0)
    policy = package.calibrate(package.MarginTable(tuple(completed.rows), completed.graph), coverage=0.6)
    assert len(list(package.decide(policy, tmp_path / "table.jsonl"))) == 5


def _not_to_be_loaded(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing is to be asked")


def test_a_partly_probed_table_gets_the_rest_of_a_larger_set(tmp_path: Path) -> None:
    small = probe("world:whatsup", "world:aligned", limit=8, out=tmp_path / "img.jsonl", progress=False)
    whole = probe("world:whatsup", "world:aligned", limit=8, probes="all", progress=False)
    completed = probe(tmp_path / "img.jsonl", "world:aligned", complete=True, probes="all", progress=False)
    assert completed.ran.done == whole.ran.done - small.ran.done
    for one, other in zip(completed.rows, whole.rows, strict=True):
        assert one.direct.paraphrases == pytest.approx(other.direct.paraphrases, abs=1e-4)
        assert {c: sorted(m or {}) for c, m in one.margins.items()} == {
            c: sorted(m or {}) for c, m in other.margins.items()
        }


def test_margins_of_two_models_are_not_mixed(tmp_path: Path) -> None:
    probe("world:whatsup", "world:aligned", limit=4, out=tmp_path / "t.jsonl", progress=False)
    with pytest.raises(
        RecapError, match=r'its margins are of ".*", and the missing ones would be of ".*"; ask that model'
    ):
        probe(tmp_path / "t.jsonl", "world:biased", complete=True, probes="cal", progress=False)
    with pytest.raises(RecapError, match="its margins are of "):  # also where nothing is missing
        probe(tmp_path / "t.jsonl", "world:biased", complete=True, progress=False)
    mixed = probe(tmp_path / "t.jsonl", "world:biased", complete=True, probes="cal", any_model=True, progress=False)
    assert missing_probes(mixed.rows, mixed.graph, "cal") == {}


def test_the_command_says_what_is_there_and_what_is_missing(tmp_path: Path, recap: Run) -> None:
    ran = recap("import", "lm-eval", CHOICE, "--out", tmp_path / "t.jsonl")
    assert ran.code == 2  # one sample was left out, and is named
    assert ran.err.count("\n") == 1
    assert "5 rows → " in ran.out
    assert "missing for an audit: image.claim (5 rows)" in ran.out
    assert len(read_table(tmp_path / "t.jsonl")) == 5
    document = recap("import", "inspect", LOGS / "inspect.eval", "--out", tmp_path / "u.parquet", "--json").json
    assert document["held"] == {"label": 5, "image": 0, "direct.image": 4}


def _changed(path: Path, out: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        change(line)
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return out


def test_two_likelihoods_without_words_need_to_be_told_apart(tmp_path: Path) -> None:
    """lmms-eval does not log the continuations of a multiple choice; this is how it writes their likelihoods."""
    log = _changed(
        WORDS,
        tmp_path / "x.jsonl",
        lambda line: line.update(filtered_resps=[["-1.5", "False"], ["-0.5", "True"]], target="1"),
    )
    with pytest.raises(
        RecapError, match=r"2 log-likelihoods, and the log does not say of which words; .*--choices yes,no"
    ):
        import_log("lmms-eval", log)
    for choices, margin, label in (("yes,no", -1.0, "no"), ("no,yes", 1.0, "yes")):
        row = import_log("lmms-eval", log, choices=choices).rows[0]
        assert (row.direct.image, row.label) == (margin, label)
    with pytest.raises(RecapError, match='choices is "a,b"'):
        import_log("lmms-eval", log, choices="a,b")


def test_choices_scored_without_their_question_do_not_count(tmp_path: Path) -> None:
    """acc_mutual_info makes lm-eval score each choice twice, the second time behind nothing."""

    def twice(line: dict[str, Any]) -> None:
        for i, word in enumerate((" yes", " no")):
            line["arguments"][f"gen_args_{2 + i}"] = {"arg_0": "", "arg_1": word}
            line["filtered_resps"].append(["-9.0" if i else "-0.1", "False"])

    log = _changed(CHOICE, tmp_path / CHOICE.name, twice)
    assert import_log("lm-eval", log).rows == import_log("lm-eval", CHOICE).rows


def test_choices_that_are_no_yes_and_no_are_left_out(tmp_path: Path) -> None:
    def letters(line: dict[str, Any]) -> None:
        for i, request in enumerate(line["arguments"].values()):
            request["arg_1"] = " AB"[i : i + 2]

    with pytest.raises(RecapError, match="no sample of this lm-eval log .*its choices are not yes and no"):
        import_log("lm-eval", _changed(CHOICE, tmp_path / "x.jsonl", letters))


@pytest.mark.parametrize(
    ("harness", "content", "message"),
    [
        ("lm-eval", "", "the log is empty"),
        ("lm-eval", "{", "not valid JSON"),
        ("lm-eval", "[1]", "the sample is not a JSON object"),
        ("lm-eval", '{"doc_id": 1}', "this is no sample of lm-eval"),
        ("lmms-eval", '{"doc_id": 1}', "this is no sample of lmms-eval"),
        ("inspect", '{"a": 1}', "this is no log of Inspect"),
        ("inspect", "PK\x03\x04", "cannot read the log"),
        ("inspct", "", '"inspct" is not a log that can be imported; did you mean "inspect"'),
    ],
)
def test_what_is_no_log_is_one_line(harness: str, content: str, message: str, tmp_path: Path, recap: Run) -> None:
    (tmp_path / "log").write_text(content)
    ran = recap("import", harness, tmp_path / "log", "--out", tmp_path / "t.jsonl")
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "t.jsonl").exists()


def test_a_broken_archive_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = bytearray((LOGS / "inspect.eval").read_bytes())
    with zipfile.ZipFile(LOGS / "inspect.eval") as archive:
        sample = next(each for each in archive.infolist() if each.filename.startswith("samples/"))
    broken[sample.header_offset + 80 : sample.header_offset + 400] = bytes(320)
    (tmp_path / "b.eval").write_bytes(broken)
    with pytest.raises(RecapError, match=r"cannot read samples/"):
        import_log("inspect", tmp_path / "b.eval")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(RecapError, match=r"pip install 'recap-vlm\[logs\]'"):
        import_log("inspect", LOGS / "inspect.eval")


@pytest.mark.parametrize("name", ["9" * 5000, "encrypted"])
def test_an_archive_that_nobody_here_can_open_is_one_line(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "t"}}))
        archive.writestr(f"samples/{name}.json", b"not JSON")
    data = bytearray((tmp_path / "a.eval").read_bytes())
    if name == "encrypted":
        for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            data[data.rindex(mark) + at] |= 1
    (tmp_path / "a.eval").write_bytes(data)
    with pytest.raises(RecapError, match=r"cannot read samples/"):
        import_log("inspect", tmp_path / "a.eval")
    (tmp_path / "b.json").write_text('{"eval": {}, "samples": 5}')
    with pytest.raises(RecapError, match=r"samples is not a list"):
        import_log("inspect", tmp_path / "b.json")


def test_samples_without_a_number_are_not_one(tmp_path: Path) -> None:
    source = next(LOGS.glob("samples_spatial_choice_*.jsonl"))
    lines = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    known = import_log("lm-eval", source)
    for line in lines:
        line.pop("doc_id", None)
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(import_log("lm-eval", tmp_path / "samples.jsonl").rows) >= len(known.rows)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "text", "role", "content", "image", "arg_0", "message"]), inner, max_size=2
        )
    ),
    max_leaves=5,
)


@settings(max_examples=150)
@given(data=st.data())
def test_a_log_of_any_shape_is_rows_or_one_line(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """One value anywhere in a sample is replaced by something else: no other error than ours."""
    harness, path = data.draw(
        st.sampled_from(
            [("lm-eval", CHOICE), ("lm-eval", GENERATE), ("lmms-eval", WORDS), ("inspect", LOGS / "inspect.json")]
        )
    )
    whole = json.loads(path.read_text()) if harness == "inspect" else json.loads(path.read_text().splitlines()[0])
    part = whole["samples"] if harness == "inspect" else whole
    while True:
        key = data.draw(st.sampled_from(range(len(part)) if isinstance(part, list) else sorted(part)))
        if not isinstance(part[key], dict | list) or not part[key] or data.draw(st.booleans()):
            part[key] = data.draw(JSON)
            break
        part = part[key]
    log = tmp_path_factory.mktemp("log") / "log.json"
    log.write_text(json.dumps(whole))
    with contextlib.suppress(RecapError):
        import_log(harness, log)


def test_small_things() -> None:
    assert margin_of(["yes", "yes", "no"], [-1.0, -1.0, -2.0]) == pytest.approx(math.log(2) + 1)
    assert margin_of(["yes", None], [-1.0, -2.0]) is None
    assert margin_of(["yes", "no"], [-1.0, -math.inf]) is None
    assert [truth(v) for v in ("Yes.", True, 0, "maybe", ["no"], None)] == ["yes", "yes", "no", None, "no", None]
    assert truth("['yes']") == "yes"
    assert [truth(v, ["no", "yes"]) for v in ("0", 1, "B", "yes")] == ["no", "yes", "yes", "yes"]
    assert [answer_in(t) for t in ("<think>no…</think> Yes.", "False", "I do not know", '{"answer": "no"}')] == [
        "yes",
        "no",
        None,
        "no",
    ]


def test_a_table_without_pictures_cannot_be_completed(tmp_path: Path) -> None:
    import_log("inspect", LOGS / "inspect.json", tmp_path / "t.jsonl")
    with pytest.raises(RecapError, match=r't.jsonl:1: "spatial-1": image is missing'):
        probe(tmp_path / "t.jsonl", "world:aligned", complete=True, progress=False)
    shutil.copy(CHOICE, tmp_path / "c.jsonl")
    with pytest.raises(RecapError, match="this is the file that is read"):
        import_log("lm-eval", tmp_path / "c.jsonl", tmp_path / "c.jsonl")


def test_what_cannot_be_completed_is_left_out_and_the_rest_can_be_evaluated(tmp_path: Path, recap: Run) -> None:
    probe("world:whatsup", "world:aligned", limit=24, out=tmp_path / "t.jsonl", progress=False)
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    for place, line in enumerate(lines):
        del line["margins"]
        line["image"] = "no such picture.jpg" if place == 5 else line["image"]
    (tmp_path / "bare.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = recap(
        "probe", "--complete", tmp_path / "bare.jsonl", "--model", "world:aligned", "--out", tmp_path / "full.jsonl"
    )
    assert ran.code == 2
    assert "no such picture.jpg" in ran.err
    assert "1 of 24 rows still lack probes and were left out" in ran.err
    table = read_table(tmp_path / "full.jsonl")
    assert len(table) == 23
    assert package.evaluate(table, splits=20, progress=False).inside["recap-img"].n == 23
    some = probe(tmp_path / "bare.jsonl", "world:aligned", complete=True, limit=3, progress=False)
    assert [row.id for row in some.rows] == [line["id"] for line in lines[:3]]


def _likelihoods(yes: str, no: str) -> Callable[[dict[str, Any]], None]:
    def change(line: dict[str, Any]) -> None:
        words = [request["arg_1"].strip() for request in line["arguments"].values()]
        line["filtered_resps"] = [[{"yes": yes, "no": no}[word], "False"] for word in words]

    return change


def test_a_log_likelihood_that_is_not_finite_is_told_as_that(tmp_path: Path) -> None:
    log = _changed(CHOICE, tmp_path / "a.jsonl", _likelihoods("-0.5", "-inf"))
    found = import_log("lm-eval", log)
    assert {(row.answer, row.direct.image) for row in found.rows} == {("yes", None)}
    assert "5 of 5 rows: the log-likelihood of yes or of no is no finite number" in found.notes[0]
    for yes, no, why in (
        ("nan", "-0.5", "that of yes is nan"),
        ("-inf", "-inf", "that of yes is -inf and that of no is -inf"),
        ("inf", "-1", "that of yes is inf"),
    ):
        log = _changed(CHOICE, tmp_path / "b.jsonl", _likelihoods(yes, no))
        with pytest.raises(RecapError, match=f"its log-likelihoods give no answer: {why}"):
            import_log("lm-eval", log)
    log = _changed(
        WORDS, tmp_path / "c.jsonl", lambda line: line.update(filtered_resps=[["-inf", "False"], ["-0.5", "True"]])
    )
    assert {row.answer for row in import_log("lmms-eval", log, choices="yes,no").rows} == {"no"}
    whole = json.loads((LOGS / "inspect.json").read_text())
    for sample in whole["samples"]:
        for token in sample["output"]["choices"][0]["logprobs"]["content"]:
            for each in token["top_logprobs"]:
                if each["token"].strip().lower() == "no":
                    each["logprob"] = -math.inf
    (tmp_path / "d.json").write_text(json.dumps(whole))
    notes = import_log("inspect", tmp_path / "d.json").notes
    assert any("is no finite number" in note for note in notes)


def test_half_of_a_surrogate_pair_in_a_log_is_one_line(tmp_path: Path, recap: Run) -> None:
    def broken(line: dict[str, Any]) -> None:
        line["doc"]["image"] = "a\ud800.jpg"

    log = _changed(CHOICE, tmp_path / "x.jsonl", broken)
    for ending in ("jsonl", "csv", "parquet"):
        ran = recap("import", "lm-eval", log, "--out", tmp_path / f"t.{ending}")
        assert ran.code == 2
        assert "image holds half of a surrogate pair" in ran.err
        assert ran.err.count("\n") == 1

    def only_the_first(line: dict[str, Any]) -> None:
        if line["doc_id"] == 0:
            broken(line)

    found = import_log("lm-eval", _changed(CHOICE, tmp_path / "y.jsonl", only_the_first), tmp_path / "t.csv")
    assert len(read_table(tmp_path / "t.csv")) == len(found.rows) == 4


ASKED = "Is the mug on the table?"


def _lm(**more: Any) -> dict[str, Any]:
    requests = {f"gen_args_{i}": {"arg_0": f"Q: {ASKED} A:", "arg_1": word} for i, word in enumerate((" yes", " no"))}
    scores = [["-0.5", "False"], ["-1.5", "False"]]
    whole = {"doc_id": 0, "doc": {"image": "a.jpg", "question": ASKED}, "target": "0", "arguments": requests}
    return whole | {"resps": [], "filtered_resps": scores} | more


def _lmms(**more: Any) -> dict[str, Any]:
    whole = {"doc_id": 0, "input": ASKED, "target": "Yes", "filtered_resps": ["Yes"], "input_media": ["a.jpg"]}
    return whole | more


CHAT = [
    {"role": "system", "content": "Is the dog under the bed?"},
    {"role": "user", "content": [{"type": "text", "text": ASKED}]},
]


@pytest.mark.parametrize(
    ("harness", "line"),
    [
        ("lm-eval", _lm(doc={"images": ["a.jpg"], "question": ASKED})),
        ("lm-eval", _lm(doc={"image": [{"path": "a.jpg", "bytes": None}], "question": ASKED})),
        ("lm-eval", _lm(arguments=[[f"Q: {ASKED}", " yes"], [f"Q: {ASKED}", " no"]])),  # as up to 0.4.2
        ("lm-eval", _lm(doc={"image": "a.jpg"}, arguments={
            "a": {"arg_0": [json.dumps(CHAT)], "arg_1": " yes"}, "b": {"arg_0": [json.dumps(CHAT)], "arg_1": " no"}})),
        ("lmms-eval", _lmms(input_media="a.jpg")),
        ("lmms-eval", _lmms(input_media=[{"type": "image", "image_url": {"url": "a.jpg"}}])),
        ("lmms-eval", _lmms(input=CHAT)),
    ],
)  # fmt: skip
def test_pictures_prompts_and_requests_in_other_shapes_are_read(
    harness: str, line: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps(line) + "\n")
    found = import_log(harness, tmp_path / "x.jsonl")
    [row] = found.rows
    assert (row.id, row.image, row.unit, row.relation, row.label) == ("x-0", "a.jpg", "a.jpg", "on", "yes")
    assert row.says_yes
    assert not found.notes


def test_samples_without_numbers_are_kept_apart_and_several_pictures_refused(tmp_path: Path) -> None:
    lines = [_lm(doc_id=None), _lm(doc_id=None), _lm(doc={"image": ["a.jpg", "b.jpg"], "question": ASKED})]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = import_log("lm-eval", tmp_path / "x.jsonl")
    assert [row.id for row in found.rows] == ["x-1", "x-2"]
    assert found.unread == (f"{tmp_path / 'x.jsonl'}:3: it shows 2 pictures, and an audit is about one",)


def _inspected(image: str, **more: Any) -> str:
    asked = {"role": "user", "content": [{"type": "image", "image": image}, {"type": "text", "text": ASKED}]}
    said = {"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}
    sample = {"id": 1, "epoch": 1, "input": [asked], "target": "True", "output": said} | more
    return json.dumps({"eval": {"task": "t", "model": "m"}, "samples": [sample]})


def test_pictures_that_a_log_of_inspect_lacks_are_not_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(_inspected("attachment://abc"))
    [row] = import_log("inspect", tmp_path / "a.json").rows
    assert (row.image, row.unit, row.label) == (None, "attachment://abc", "yes")
    for url, why in (("data:image/png;base64,@@@", "is not valid base64"), ("data:image/png;base64,", "is empty")):
        (tmp_path / "b.json").write_text(_inspected(url))
        with pytest.raises(RecapError, match=f"its picture {why}"):
            import_log("inspect", tmp_path / "b.json", pictures=tmp_path / "pictures")
        assert not (tmp_path / "pictures").exists()
    (tmp_path / "c.json").write_text('{"eval": {}, "samples": []}')
    with pytest.raises(RecapError, match="this inspect log holds no samples"):
        import_log("inspect", tmp_path / "c.json")
    unknown = {"token": "Yes", "logprob": None, "top_logprobs": None}
    output = {"choices": [{"message": {"content": "Yes"}, "logprobs": {"content": [unknown]}}]}
    (tmp_path / "d.json").write_text(_inspected("a.jpg", output=output))
    assert import_log("inspect", tmp_path / "d.json").rows[0].answer == "yes"
