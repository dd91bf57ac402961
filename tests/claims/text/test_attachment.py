"""Which thing a place is said of, where a sentence names one in between: what is looked at, compared, shown, written."""

from __future__ import annotations

import pytest

from recap.claims.text import extract
from tests.claims.text.test_extraction import told


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("The dog looks at the ball under the chair.", ["ball below chair"]),
        ("A boy is glancing up at a kite above the house.", ["kite above house"]),
        ("The cats hiss at the dog behind the fence.", ["dog behind fence"]),
        ("The farmer waves at a child on the tractor.", ["child on tractor"]),
        ("The guide points to the owl in the tree.", ["owl inside tree"]),
        ("The dog barks at the cat under the car and stands on the porch.", ["dog on porch", "cat below car"]),
        ("A woman gazes at a screen while sitting on a couch.", ["woman on couch"]),
        ("A man smiles at the camera next to a giraffe.", ["man near giraffe"]),
        ("A girl is looking at her phone on the sofa.", ["girl on sofa"]),
        ("The vase is taller than the jar on the shelf.", ["jar on shelf"]),
        ("The vase is taller than the jar and stands on the shelf.", ["vase on shelf"]),
        ("There are more than three cups on the tray.", ["three cups on tray"]),
        ("A girl stands in front of a mirror above a sink.", ["girl in_front_of mirror", "mirror above sink"]),
        ("A bench stands next to a sign above a bin.", ["bench near sign", "sign above bin"]),
        ("A bird flies in front of a house above a tree.", ["bird in_front_of house", "bird above tree"]),
        ("A cat sits on the sofa to the left of a lamp.", ["cat on sofa", "cat left_of lamp"]),
        ("The painting shows a ship on the sea.", ["ship on sea"]),
        ("The sign on the pole displays a bike above an arrow.", ["sign on pole", "bike above arrow"]),
        ("The drawing features a house under a tree.", ["house below tree"]),
        ("A painting of a boat on the wall is above a sofa.", ["painting of a boat on wall", "painting of a boat above sofa"]),
        ("Several books on shelves.", ["several books on shelves"]),
        ("A man reads a book on the bus.", ["man on bus"]),
        ("The answer is on page five of the manual.", []),
        ("It is explained in chapter two.", []),
    ],
)  # fmt: skip
def test_a_place_is_said_of_the_right_thing(text, claims):
    assert sorted(told(text)) == sorted(claims)
    assert extract(text).unsure == ()


@pytest.mark.parametrize(
    ("text", "claims", "part"),
    [
        ("A girl reads a book on dinosaurs on the sofa.", ["girl on sofa"], "a book on dinosaurs"),
        ("A scientist gives a lecture on climate on a stage.", ["scientist on stage"], "a lecture on climate"),
        ("The tree to the left of the house is taller than the one behind it.", ["tree left_of house"], "behind it"),
        ("The cup on the table is bigger than the one on the shelf.", ["cup on table"], "one on the shelf"),
        ("A poster of a surfer on a wave hangs above the bed.", ["poster of a surfer above bed"], "A poster of a surfer on a wave"),
        ("A mural of a whale in the sea is behind the bench.", ["mural of a whale behind bench"], "A mural of a whale in the sea"),
        ("A cat looks under the bed.", [], "looks under the bed"),
    ],
)  # fmt: skip
def test_a_place_that_may_be_something_elses_is_unsure(text, claims, part):
    assert told(text) == claims
    assert [text[u.start : u.end] for u in extract(text).unsure] == [part]
