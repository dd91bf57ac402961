"""The small models' words: every question that the package asks of the world is made of them, one token a word."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from recap.claims import default_graph
from recap.models.llava import AFTER, BEFORE, BOS, NO, YES, words_of
from recap.probes import asked_by, question, ways
from recap.world.bundled import MODELS, checkpoint_folder
from recap.world.objects import things
from recap.world.training.checkpoint import FILES
from recap.world.training.vocabulary import all_wordings, encode, usual_groups, vocabulary
from recap.world.truth import RELATIONS

UNKNOWN, IMAGE = "<unk>", "<image>"


@pytest.fixture(scope="module", params=MODELS)
def real(request: pytest.FixtureRequest) -> Any:
    """The tokenizer that comes with a checkpoint."""
    return AutoTokenizer.from_pretrained(checkpoint_folder(request.param))


def questions() -> Iterator[str]:
    """Every relation in every way of asking, with every thing as subject and as object."""
    names = list(things())
    templates = [way for kind in ("paraphrases", "wrappers", "constrained") for way in ways(kind).values()]
    for subject, thing in zip(names, [*names[1:], names[0]], strict=True):
        for relation in RELATIONS:
            plain = question(subject, relation, thing)
            yield plain
            yield from (asked_by(way, plain, subject, thing) for way in templates)


def test_every_question_is_in_the_vocabulary(real: Any) -> None:
    asked = list(questions())
    assert len(asked) == len(things()) * len(RELATIONS) * 11
    unknown = real.convert_tokens_to_ids(UNKNOWN)
    for ids in real(asked, add_special_tokens=False)["input_ids"]:
        assert unknown not in ids
    # The check can fail: a word that was never learned is unknown.
    assert unknown in real("Is the zeppelin on the table?")["input_ids"]


def test_every_phrase_that_is_trained_is_in_the_vocabulary(real: Any) -> None:
    texts = [" ".join(way.words).replace("subjectgap", "cat").replace("objectgap", "hat") for way in all_wordings()]
    assert all(real.convert_tokens_to_ids(UNKNOWN) not in ids for ids in real(texts)["input_ids"])


def test_things_answers_and_the_chats_words_are_one_token_each(real: Any) -> None:
    for word in (*things(), YES, NO, *BEFORE, *AFTER):
        assert real(word, add_special_tokens=False)["input_ids"] == [vocabulary()[word]]


def test_every_relation_of_the_graph_can_be_asked() -> None:
    assert set(default_graph().relations) <= set(RELATIONS)
    assert {way.relation for way in all_wordings()} == set(RELATIONS)
    assert {way.group for way in all_wordings()} == {*usual_groups(), "constrained"}


def test_words_are_cut_as_the_tokenizer_cuts_them(real: Any) -> None:
    for text in questions():
        ids = real(text, add_special_tokens=False)["input_ids"]
        assert real.convert_ids_to_tokens(ids) == words_of(text)


@given(text=st.text(string.printable))
def test_any_text_is_cut_as_the_tokenizer_cuts_it(real: Any, text: str) -> None:
    inner = real.backend_tokenizer
    cut = inner.pre_tokenizer.pre_tokenize_str(inner.normalizer.normalize_str(text))
    assert [word for word, _ in cut] == words_of(text)


@pytest.mark.parametrize("file", FILES)
def test_both_models_have_the_same_shape_words_and_template(file: str) -> None:
    one, other = ((checkpoint_folder(name) / file).read_text("utf-8") for name in MODELS)
    assert one == other


@pytest.mark.parametrize("groups", [usual_groups(), {"constrained": 1.0}], ids=["usual", "constrained"])
def test_lessons_are_encoded_as_the_engine_encodes_questions(real: Any, groups: dict[str, float]) -> None:
    encoded = encode(groups)
    ways_ = [way for way in all_wordings() if way.group in groups]
    known = vocabulary()
    for row, way in enumerate(ways_):
        ids = encoded.ids[row, : encoded.length[row]].copy()
        ids[encoded.subject[row]], ids[encoded.object[row]] = known["mug"], known["table"]
        text = " ".join(way.words).replace("subjectgap", "mug").replace("objectgap", "table")
        message = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}]
        prompt = real.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
        told = real(prompt, add_special_tokens=False)["input_ids"]
        assert told == [known[BOS], *(known[word] for word in BEFORE), known[IMAGE], *ids.tolist()]
        assert list(RELATIONS)[encoded.relation[row]] == way.relation


def test_every_relation_is_trained_alike() -> None:
    encoded = encode(usual_groups())
    for relation in range(len(RELATIONS)):
        assert encoded.weight[encoded.relation == relation].sum() == pytest.approx(1)
