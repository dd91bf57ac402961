from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recap.claims import NoRelationError, default_graph, default_lexicon, parse, parse_existence
from recap.probes import question

UNDERSTOOD = [
    ("Is the mug to the left of the laptop?", "mug", "left_of", "laptop"),
    ("The cat is beneath the table.", "cat", "below", "table"),
    ("A beer bottle on a armchair", "beer bottle", "on", "armchair"),
    ("Does the box contain the ball?", "box", "contains", "ball"),
    ("The backpack contains the cat.", "backpack", "contains", "cat"),
    ("Are the potted plants in front of the TVs?", "potted plants", "in_front_of", "TVs"),
    ("is  the\tdog on top of the   bed ?", "dog", "above", "bed"),
    ("There is a dog behind the couch.", "dog", "behind", "couch"),
    ("Is there a dog behind the couch in the picture?", "dog", "behind", "couch"),
    ("The ball of yarn is inside the basket", "ball of yarn", "inside", "basket"),
    ("Is the cup right above the plate?", "cup", "above", "plate"),
    ("The cat is sitting on the mat.", "cat", "on", "mat"),
    ("The hot dog is on the right side of the sandwich.", "hot dog", "right_of", "sandwich"),
    ("A soda can to the left of a armchair", "soda can", "left_of", "armchair"),
    ("In the image, is the mug below the shelf?", "mug", "below", "shelf"),
    ("Based on what is visible, is it true that the mug is on the table?", "mug", "on", "table"),
    ("Using only visible evidence, answer yes or no: Is the mug on the table?", "mug", "on", "table"),
    ("Is the mug on the table? Answer with yes or no.", "mug", "on", "table"),
    ("Is the photo above the desk?", "photo", "above", "desk"),
    ("Is the butterfly above the flower?", "butterfly", "above", "flower"),
    ("Is the salt and pepper shaker left of the mug?", "salt and pepper shaker", "left_of", "mug"),
    ("The cat is facing away from the dog.", "cat", "facing_away_from", "dog"),
    ("The bench is far away from the tree.", "bench", "far", "tree"),
    ("The bench is far from the tree.", "bench", "far_from", "tree"),
    ("There's a mug on the table.", "mug", "on", "table"),
    ("Is the mug on left side of the laptop?", "mug", "left_of", "laptop"),
    ("Is the bag on the top of the car?", "bag", "above", "car"),
    ('Is the mug on the "table"?', "mug", "on", "table"),
    ("Is the mug on the table？", "mug", "on", "table"),
    ("<image> Is the mug on the table?", "mug", "on", "table"),
    ("Is the mug on the table? Yes/No", "mug", "on", "table"),
    ("Is the mug on the table? Answer the question using a single word or phrase.", "mug", "on", "table"),
    ("Question: Is the mug on the table? Answer:", "mug", "on", "table"),
    ("Can you see the mug on the table?", "mug", "on", "table"),
    ("From the viewer's perspective, is the mug left of the laptop?", "mug", "left_of", "laptop"),
    ("Is the mug on the table or not?", "mug", "on", "table"),
    ("Is the parking meter left of the fire hydrant?", "parking meter", "left_of", "fire hydrant"),
    ("Is the red mug to the left of the blue mug?", "red mug", "left_of", "blue mug"),
    ("Is the woman's bag on her bed?", "woman's bag", "on", "bed"),
    ("Is the painting hung above the sofa?", "painting", "above", "sofa"),
    ("Is the mug infront of the plate?", "mug", "in_front_of", "plate"),
    ("Please tell me whether the mug is on the table.", "mug", "on", "table"),
    ("Could you tell me if the mug is on the table?", "mug", "on", "table"),
    ("The mug, which is red, is on the table.", "mug", "on", "table"),
    ("Is the cat, a tabby, on the sofa?", "cat", "on", "sofa"),
    ("Is the mug on the table, which is brown?", "mug", "on", "table"),
    ("Is the sticker on the phone?", "sticker", "on", "phone"),
    ("Is the vase on the TV?", "vase", "on", "TV"),
    ("Is the book on the remote control?", "book", "on", "remote control"),
]

NOT_UNDERSTOOD = [
    "",
    "   ",
    "What color is the mug?",
    "Is the mug blue?",
    "Where is the mug?",
    "The man left the house",
    "Is the mug on the left?",
    "Is the cat inside?",
    "Is it on the table?",
    "Is the mug not left of the laptop?",
    "Isn't the mug on the table?",
    "Is the cat in the box on the table?",
    "Is the mug to the left or to the right of the laptop?",
    "Is the mug left of the laptop and the plate?",
    "Is the mug blue and on the table?",
    "Are all mugs on the table?",
    "Is the cat partly under the table?",
    "To the left of the laptop is the mug.",
    "Is the cat in the picture?",
    "Is the in-ear headphone blue?",
    "Is the mug on the table? Is the cat on the mat?",
    "on",
    "¿?",
    "Is the cat on the table black?",
    "Does the dog in the picture look happy?",
    "Is the man on the left wearing a hat?",
    "Is the car behind the truck red?",
    "Nobody is in the car.",
    "The mug might be on the table",
    "The mug can be on the table",
    "The mug must be on the table",
    "False: the mug is on the table",
    "Is the dog on the left side of the picture?",
    "Is the dog on the left of the image?",
    "Is the dog in the top-left corner of the image?",
    "Does the image contain a dog?",
    "It's on the table.",
    "The mug's on the table",
    "Is the cat sleeping on the couch?",
    "Is the bird flying above the house?",
    "Is the dog very close to the cat?",
    "Is the mug to the upper left of the laptop?",
    "Put the mug on the table",
    "Explain why the mug is on the table",
    "Caption: a mug on a table",
    "A photo of a mug on a table",
    "Is the following true: the mug is on the table?",
    "Yes the mug is on the table.",
    "Is the photo in black and white?",
    "Is the building under construction?",
    "Is the man over five years old?",
    "Is the bus on time?",
    "Is the mug on the laptop's left?",
    "The mug used to be on the table",
    "The mug fails to be on the table",
    "Is the mug on the table or the chair?",
    "Is something on the table?",
    "Is anyone behind the car?",
    "Is the mug " + "very " * 200 + "on the table?",
]


@pytest.mark.parametrize(("text", "subject", "relation", "obj"), UNDERSTOOD)
def test_a_relation_is_read_with_its_two_objects(text: str, subject: str, relation: str, obj: str) -> None:
    found = parse(text)
    assert (found.subject, found.relation, found.object) == (subject, relation, obj)


@pytest.mark.parametrize("text", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_refused_and_never_guessed(text: str) -> None:
    with pytest.raises(NoRelationError, match="^no spatial relation found in "):
        parse(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Is the mug between the plate and the bowl?", '"between" relates three things; ask about two at a time'),
        ("Is the man on the phone?", '"on the phone" is an idiom'),
        ("Is the woman on TV?", '"on tv" is an idiom'),
        ("Is the house on fire?", '"on fire" says how something is, not where it is'),
        ("Is the couple in love?", '"in love" says how something is'),
        ("Is the bus on the way?", '"on the way" says how something is'),
        ("A mug, a plate, and a cup are on the table", "name one thing, without commas and asides"),
        ("The mug, red, is on the table", "name one thing, without commas and asides"),
        ("Is the cat, a tabby in a box, on the sofa?", 'it holds several ("in" and "on")'),
    ],
)
def test_a_refusal_says_why_and_what_to_do(text: str, why: str) -> None:
    with pytest.raises(NoRelationError) as refused:
        parse(text)
    assert why in refused.value.why


def test_whoever_wants_to_be_told_asks() -> None:
    assert parse("Please tell me whether the mug is on the table.").is_question
    assert not parse("The mug, which is red, is on the table.").is_question


def test_the_longest_phrase_wins() -> None:
    assert [m.phrase for m in default_lexicon().find("on the left side of")] == ["on the left side of"]
    assert [m.phrase for m in default_lexicon().find("is in front of it")] == ["in front of"]


def test_a_phrase_inside_a_word_is_no_phrase() -> None:
    assert default_lexicon().find("the turnover of in-ear onions") == []


def test_questions_are_told_from_statements() -> None:
    assert parse("Is the mug on the table?").is_question
    assert not parse("The mug is on the table.").is_question


WORDS = frozenset[str]().union(*default_lexicon().refuse.values(), *default_lexicon().strip.values())


def is_noun(word: str) -> bool:
    """Letters that no list of the lexicon knows, and that do not look like a verb."""
    return word not in default_lexicon().phrases and word not in WORDS | {"and"} and not word.endswith(("ing", "ed"))


NOUNS = st.text(string.ascii_lowercase, min_size=3, max_size=9).filter(is_noun)


@given(NOUNS, NOUNS, st.sampled_from(sorted(default_graph().relations)))
def test_every_template_reads_back_as_itself(subject: str, obj: str, relation: str) -> None:
    found = parse(question(subject, relation, obj))
    assert (found.subject, found.relation, found.object) == (subject, relation, obj)


@given(st.text(max_size=60))
def test_any_text_is_understood_or_refused_in_one_line(text: str) -> None:
    try:
        found = parse(text)
    except NoRelationError as error:
        assert "\n" not in str(error)
    else:
        assert found.subject
        assert found.object
        assert found.relation in default_lexicon().families


def test_existence_is_read_apart_from_relations():
    lexicon = default_lexicon()
    read = {
        text: (found.subject, found.is_question)
        for text in ("Is there a basket in the picture?", "Are there two dogs?", "There is an old man in this photo.")
        if (found := parse_existence(text, lexicon)) is not None
    }
    assert list(read.values()) == [("basket", True), ("two dogs", True), ("old man", False)]
    for text in ("Is there a mug on the table?", "Is the mug on the table?", "There is no dog."):
        assert parse_existence(text, lexicon) is None
