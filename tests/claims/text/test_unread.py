"""What is dressed is read through, and what cannot be read is never passed over in silence."""

from __future__ import annotations

import pytest

from recap.claims.text import extract
from recap.claims.text.unread import NO_NAME, NOT_ENGLISH
from tests.claims.text.benchmark import PARTS, rows
from tests.claims.text.test_extraction import told


@pytest.mark.parametrize(
    ("text", "claims", "spans"),
    [
        ("<p>The cat is <b>above</b> the mouse.</p>", ["cat above mouse"], ["The cat is <b>above</b> the mouse"]),
        ("<ul><li>A mug is on the tray</li><li>A cup is <em>to the</em> left of a jar</li></ul>",
         ["mug on tray", "cup left_of jar"], ["A mug is on the tray", "A cup is <em>to the</em> left of a jar"]),
        ('The <a href="x.html" title="under">red cup</a> is on the&nbsp;tray.<br/>A dog is under the table.',
         ["red cup on tray", "dog below table"],
         ['The <a href="x.html" title="under">red cup</a> is on the&nbsp;tray', "A dog is under the table"]),
        ("The [lamp](https://example.org/under/it) is to the **left** of the sofa.", ["lamp left_of sofa"],
         ["The [lamp](https://example.org/under/it) is to the **left** of the sofa"]),
        ("The <|object_ref_start|>vase<|object_ref_end|> is behind a jar.", ["vase behind jar"],
         ["The <|object_ref_start|>vase<|object_ref_end|> is behind a jar"]),
        ("Since 3 <5, the vase is behind a jar.", ["vase behind jar"], ["the vase is behind a jar"]),
    ],
)  # fmt: skip
def test_tags_and_markdown_count_as_nothing(text, claims, spans):
    found = extract(text)
    assert told(text) == claims
    assert [text[c.start : c.end] for c in found.claims] == spans


@pytest.mark.parametrize(
    "text",
    [
        "Der Hund schläft unter dem Tisch.", "Die Tasse ist in der Küche.", "Le chien dort sous la chaise.", "Il cane è sotto il tavolo.",
        "La taza está encima de la mesa.", "De hond ligt onder de tafel.", "O cachorro está na cama.", "Hunden ligger på soffan.",
        "Собака под столом.", "犬は机の下にいます。", "الكلب تحت الطاولة", "개가 의자 밑에 있다.",
    ],
)  # fmt: skip
def test_other_languages_are_said_not_to_be_read(text):
    found = extract(text)
    assert found.claims == ()
    assert [(u.start, u.end, u.why) for u in found.unsure] == [(0, len(text), NOT_ENGLISH)]


def test_other_languages_beside_english_are_told_once_in_a_row():
    text = "The cup is on the tray. Der Hund liegt unter dem Tisch. Die Katze sitzt auf dem Sofa. A dog is near a tree."
    assert told(text) == ["cup on tray", "dog near tree"]
    (unsure,) = extract(text).unsure
    assert text[unsure.start : unsure.end] == "Der Hund liegt unter dem Tisch. Die Katze sitzt auf dem Sofa."


@pytest.mark.parametrize(
    "text", ["El Capitan is above a valley.", "A white van in La Jolla is near a car.", "A café is behind a tree."]
)
def test_english_with_foreign_names_is_read(text):
    assert len(told(text)) == 1


def test_labelled_sentences_are_all_english():
    assert [
        r["text"] for part in PARTS for r in rows(part) if NOT_ENGLISH in {u.why for u in extract(r["text"]).unsure}
    ] == []


def test_an_emoji_for_a_name_is_said():
    for text in ("The 🐶 is under the 🪑.", "🐦 above 🌳", "A dog is next to a 🌵."):
        assert [u.why for u in extract(text).unsure] == [NO_NAME], text
    assert extract("Enjoy your stay on the weekend! 🎉").unsure == ()
    assert told("The dog 🐶 is under the chair 🪑.") == ["dog below chair"]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("The jar is more to the left than the vase.", ["jar left_of vase"]),
        ("The jar is farther to the right than the vase.", ["jar right_of vase"]),
        ("The kite isn't higher up than the tree.", ["not kite above tree"]),
        ("The bike is further back than the car.", ["bike behind car"]),
        ("The bike is closer to the camera than the car.", ["bike in_front_of car"]),
        ("A jar and a vase are beside each other.", ["jar near vase"]),
        ("A horse and a cow stand next to one another in a field.", ["horse near cow", "horse inside field", "cow inside field"]),
    ],
)  # fmt: skip
def test_comparisons_and_pairs_are_read(text, claims):
    assert told(text) == claims


@pytest.mark.parametrize(
    "text",
    [
        "The kite is higher than the tree.", "The jar is nearer the door than the vase.", "The boxes are stacked on top of each other.",
        "The jar is on the shelf, isn't it?", "The jar is on the shelf, right?", "The jar isn't on the shelf, is it?",
        "The jars are under the shelf, aren't they?", "The jar is behind the vase, correct?",
    ],
)  # fmt: skip
def test_what_is_not_read_is_unsure(text):
    assert told(text) == []
    assert len(extract(text).unsure) == 1


@pytest.mark.parametrize(
    "text",
    ["Is the jar on the shelf, right?", "Where is the jar, on the shelf?", "Why is it on the shelf, do you think?"],
)
def test_questions_stay_questions(text):
    assert extract(text).to_json() == {"claims": [], "unsure": []}
