"""Claims in free text: the labelled sentences, every VSR caption, and what must never be read as a claim."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recap.claims import default_lexicon, parse
from recap.claims.text import extract
from recap.errors import RecapError
from tests.claims.text.benchmark import counted, rows


def told(text: str, **options) -> list[str]:
    return [
        f"{'' if c.answer == 'yes' else 'not '}{c.subject} {c.relation} {c.object or ''}".strip()
        for c in extract(text, **options).claims
    ]


@pytest.mark.parametrize(
    ("part", "sentences"), [("first", 200), ("second", 200), ("third", 150), ("fourth", 60), ("fifth", 40)]
)
def test_labelled_sentences_are_read_with_high_precision_and_recall(part, sentences):
    count = counted(part)["all"]
    assert count.sentences >= sentences
    assert count.precision >= 0.95
    assert count.recall >= 0.85


def test_sentences_without_a_spatial_claim_give_none():
    assert len(rows("none")) >= 100
    assert {row["text"]: told(row["text"]) for row in rows("none") if told(row["text"])} == {}


def captions(root: Path, *splits: str) -> dict[str, str]:
    lines = [line for split in splits for line in (root / "vsr" / "random" / f"{split}.jsonl").read_text().splitlines()]
    return {row["caption"]: row["relation"] for row in map(json.loads, lines)}


def read_like_the_parser(by_caption: dict[str, str]) -> None:
    lexicon = default_lexicon()
    for caption, phrase in by_caption.items():
        said = parse(caption, lexicon, phrase=phrase)
        expected = [(said.subject, lexicon.relation_of(phrase), said.object, "yes")]
        assert [(c.subject, c.relation, c.object, c.answer) for c in extract(caption).claims] == expected, caption


def test_vsr_captions_are_read_to_their_relation(data):
    read_like_the_parser(dict(list(captions(data, "test").items())[::4]))


@pytest.mark.slow
def test_every_vsr_caption_is_read_to_its_relation(data):
    read_like_the_parser(captions(data, "train", "dev", "test"))


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Behind the sofa you can see a lamp.", ["lamp behind sofa"]),
        ("To the left of the refrigerator you'll find a trash can.", ["trash can left_of refrigerator"]),
        ("Behind the sofa you hide.", []),
        ("A man is on a horse. A dog is behind him.", ["man on horse", "dog behind man"]),
        ("A woman sits on a bench; to her right there's a stroller.", ["woman on bench", "stroller right_of woman"]),
        ("A mug is on a tray. A spoon is next to it.", ["mug on tray"]),
        ("The book is below a framed photo.", ["book below framed photo"]),
        ("The dog is below the tree in this photo.", ["dog below tree"]),
        ("A car drives under a railway overpass.", ["car below railway overpass"]),
        ("A pen and a coffee cup rest on a desk.", ["pen on desk", "coffee cup on desk"]),
        ("On a plate there are two donuts, and a cup is beside it.", ["two donuts on plate", "cup near plate"]),
        ("There is a bowl and a mug on the table.", ["bowl on table", "mug on table"]),
        ("The answer is no: the lamp is not behind the sofa; it is in front of it.",
         ["not lamp behind sofa", "lamp in_front_of sofa"]),
    ],
)  # fmt: skip
def test_who_sees_who_is_meant_and_where_a_clause_ends(text, claims):
    assert told(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("A dog and a cat lie on a couch, and above them hangs a painting.",
         ["dog on couch", "painting above dog", "cat on couch", "painting above cat"]),
        ("The cup that the boy is holding is on the table.", ["cup on table"]),
        ("A man leans against a car parked in front of a house.", ["man against car", "car in_front_of house"]),
        ("The lamp isn't above the table but below it.", ["not lamp above table", "lamp below table"]),
        ("The book is under neither the bed nor the desk.", ["not book below bed", "not book below desk"]),
        ("I believe the towel is on the rack.", ["towel on rack"]),
        ("Sitting on the bench is an old man with a cane.", ["old man on bench"]),
        ("The plant is near the window, with a chair to its left.", ["plant near window", "chair left_of plant"]),
        ("- a spoon to the left of the plate\n- a knife next to a glass", ["spoon left_of plate", "knife near glass"]),
        ('{"answer": "The cat is under the table"}', ["cat below table"]),
        ("The crate is on the suitcase 🙂. A cat → on a mat ✓", ["crate on suitcase", "cat on mat"]),
        ("The mural depicts a ship on the sea.", ["ship on sea"]),
        ("A cat is sitting inside a suitcase’s pocket.", ["cat inside suitcase's pocket"]),
    ],
)  # fmt: skip
def test_clauses(text, claims):
    assert told(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("The dog, not the cat, is on the bed.", ["dog on bed", "not cat on bed"]),
        ("The mug is on the shelf rather than the table.", ["mug on shelf", "not mug on table"]),
        ("The dog is on the bed, not the cat.", ["dog on bed", "not cat on bed"]),
        ("The mug is no longer on the table.", ["not mug on table"]),
        ("The dog is nowhere near the pond.", ["not dog near pond"]),
        ("It is false that the cat is on the mat.", ["not cat on mat"]),
        ("There is no sign of a mug on the table.", ["not mug on table"]),
        ("A table without a cloth on it stands near the wall.", ["not cloth on table", "table near wall"]),
        ("Not only is the cat on the bed, but the dog is also under the table.", ["cat on bed", "dog below table"]),
        ("There is no doubt that the cat is on the mat.", ["cat on mat"]),
        ("The cat is on, not under, the bed.", ["cat on bed", "not cat below bed"]),
        ("The mug is left of and behind the monitor.", ["mug left_of monitor", "mug behind monitor"]),
        ("The mug is either on the tray or on the table.", []),
        ("The man is about to sit on the bench.", []),
        ("Had the ladder been against the wall, he would have climbed it.", []),
        ("I doubt that the cat is on the mat.", []),
    ],
)  # fmt: skip
def test_what_is_denied_and_what_is_left_open(text, claims):
    assert told(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Cat: on the mat.\nOn the table: a mug and a spoon.", ["cat on mat", "mug on table", "spoon on table"]),
        ("**On the shelf:**\n\n- a globe\n- two cups\n\nA cat sleeps.", ["globe on shelf", "two cups on shelf"]),
        ("Location: on the table", []),
        ("The mug (the one with the blue handle) is on the shelf.", ["mug on shelf"]),
        ("Dr. Miller's car is in front of the U.S. embassy.", ["Dr. Miller's car in_front_of U.S. embassy"]),
        ("A sign reading “Keep off the grass” is next to the path.", ["sign near path"]),
        ("A bus stop is beside a hot dog stand.", ["bus stop near hot dog stand"]),
        ("The 🐱 cat is on the 🟫 mat 👍🏽.", ["cat on mat"]),
        ("The cat is sitting on\r\nthe mat.", ["cat on mat"]),
        ("a cat on a mat\nbehind the sofa is a lamp", ["cat on mat", "lamp behind sofa"]),
        ("The answer is no. The cat is on the mat.", ["cat on mat"]),
        ("The cat\0is on the\u200bmat.", ["cat on mat"]),
    ],
)  # fmt: skip
def test_signs_lines_and_names(text, claims):
    assert told(text) == claims


def test_places_in_a_json_document_are_those_of_its_letters():
    text = '{"a": "The cat isn\\u2019t on\\nthe sofa.", "mug": ["on the \\ud83d\\ude00 table"], "n": 3}'
    found = extract(text)
    assert told(text) == ["not cat on sofa", "mug on table"]
    shown = [text[c.start : c.end] for c in found.claims]
    assert shown == ["The cat isn\\u2019t on\\nthe sofa", 'mug": ["on the \\ud83d\\ude00 table']


def test_a_pronoun_is_part_of_a_claims_place():
    text = "A vase with flowers in it is on a table."
    assert text[slice(extract(text).claims[0].start, extract(text).claims[0].end)] == "A vase with flowers in it"


@pytest.mark.parametrize(
    "piece", ["left of ", "Mr. ", "the cat on the mat ", "(", "<think>", " ", "\n", "a.", '"', 'says "', "1,"]
)
def test_texts_of_one_piece_take_no_longer_than_their_length(piece):
    start = time.process_time()
    extract(piece * (200_000 // len(piece)), exists=True)
    assert time.process_time() - start < 5


def test_a_claim_says_where_it_stands():
    text = "Yes! The cat **is on** the sofa; a dog lies under it."
    claim = extract(text).claims[0]
    assert text[claim.start : claim.end] == "The cat **is on** the sofa"


def test_reserve_is_told():
    assert [c.hedged for c in extract("Perhaps the mug is on the table. The cup is on the shelf.").claims] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("The lamp is right of the sofa, and a painting hangs above it.", "above it"),
        ("The cup stands between the plate and the bowl.", "between the plate and the bowl"),
        ("If the cup were on the shelf, it would fall.", "the cup were on the shelf"),
        ("Put the mug on the table.", "Put the mug on the table."),
        ("It's on the table.", "on the table"),
        ("The red car is in front of the blue one.", "The red car is in front of the blue one"),
    ],
)
def test_what_is_unclear_is_said_to_be(text, part):
    (unsure,) = extract(text).unsure
    assert text[unsure.start : unsure.end] == part
    assert "above it" not in told(text)


def test_things_that_a_text_supposes():
    assert told("The cat is on the sofa.", exists=True) == ["cat exists", "cat on sofa", "sofa exists"]
    assert told("There is no dog. There is no cat on the mat.", exists=True) == [
        "not dog exists", "not cat on mat", "mat exists",
    ]  # fmt: skip
    assert told("The cat is not on its back.", exists=True) == []


def test_a_sentence_without_end_is_not_read():
    found = extract("the cat on the mat and " * 800)
    assert found.claims == ()
    assert "words" in found.unsure[0].why


def test_a_text_of_a_megabyte_is_refused_in_one_line():
    with pytest.raises(RecapError, match="at most 1,000,000"):
        extract("The cat is on the mat. " * 50_000)


WORDS = [
    "the",
    "a",
    "cat",
    "mat",
    "on",
    "in",
    "with",
    "that",
    "is",
    "are",
    "not",
    ",",
    ".",
    "and",
    "it",
    "of",
    "left",
    "to",
]


@settings(max_examples=150)
@given(st.text(max_size=80) | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_text_can_be_read_and_places_lie_within_it(text):
    found = extract(text, exists=True)
    for each in (*found.claims, *found.unsure):
        assert 0 <= each.start < each.end <= len(text)
