"""What a text has said so far, and what the sentence in hand says: where claims and doubts are kept."""

from __future__ import annotations

from collections.abc import Sequence

from recap.claims.lexicon import Lexicon
from recap.claims.text.chunks import Chunk
from recap.claims.text.clause import Clause, Fronted
from recap.claims.text.cursor import Cursor, Things
from recap.claims.text.idioms import compound, is_place, is_scene
from recap.claims.text.model import TextClaim, Unsure
from recap.claims.text.pronouns import as_subject
from recap.claims.text.tokens import Sentence
from recap.claims.text.words import words

FRAMES = frozenset(("answer", "yes", "no", "perspective", "viewpoint", "view", "course", "explanation", "caption"))
"""what is spoken of beside the picture; no pronoun means it"""
IN_SCENES = ("inside", "contains")
NOT_SAID = "it does not say what is there"
TAKING = frozenset(("take", "shoot", "snap", "capture"))
"""what is done to pictures; where that was says nothing of what is in them"""


class TextRead:
    """What was read of a text; what was named before may be meant by a pronoun."""

    def __init__(self, given: str, text: str, lexicon: Lexicon, relations: frozenset[str]) -> None:
        self.given, self.text, self.lexicon, self.relations = given, text, lexicon, relations
        self.claims: list[TextClaim] = []
        self.unsure: list[Unsure] = []
        self.supposed: Things = []
        """things that the text says are there, or speaks of as if they were"""
        self.absent: Things = []
        """things that the text says are not there"""
        self.topic: Things = []
        """the subject of the clause before"""
        self.earlier: Things = []
        """what the sentence before names"""
        self.heading: list[Fronted] = []
        """where the things are that a list names: "On the table:" """

    def doubt(self, start: int, end: int, why: str) -> None:
        """Say that something was not understood."""
        self.unsure.append(Unsure(start, end, why))


class SentenceRead:
    """One sentence: the clause in hand, and what is claimed there."""

    def __init__(self, reader: TextRead, items: Sequence[Chunk], sentence: Sentence) -> None:
        self.reader, self.cursor, self.sentence = reader, Cursor(items), sentence
        self.clause: Clause = Clause()
        self.outer: list[Clause] = []
        """the clauses around a relative one"""
        self.named: Things = []
        self.meant: dict[str, Things] = {}
        """what pronouns meant in this sentence so far"""
        self.main_subjects: Things = []

    def _as_subjects(self, group: Things) -> Things:
        named = self.named or self.reader.earlier
        return [
            meant
            for each in group
            for meant in (as_subject(each, self.reader.topic, named) if "pronoun" in each.marks else [each])
        ]

    def _set_topic(self) -> None:
        self.main_subjects = self.main_subjects or self.clause.subjects
        self.reader.topic = self.clause.subjects or self.reader.topic

    def _note(self, things: Things) -> None:
        self.named += [c for c in things if "pronoun" not in c.marks and c.noun not in FRAMES]

    def _claim(self, subjects: Things, relation: Chunk, things: Things, denied: bool) -> None:
        said = [c for c in (*subjects, relation, *things) if c.start >= self.sentence.start]
        start, end = min(c.start for c in said), max(c.end for c in said)
        if self.clause.unreal:
            self.reader.doubt(start, end, "it is supposed or wished, not said to be so")
        elif not denied and self._is_choice(subjects, things):
            self.reader.doubt(start, end, '"or" leaves open which')
        elif not subjects:
            self.reader.doubt(start, end, NOT_SAID)
        else:
            for subject in subjects:
                for thing in things:
                    self._one(subject, relation, thing, denied)
            for subject in self.clause.excluded if subjects is self.clause.subjects else ():
                for thing in things:
                    self._one(subject, relation, thing, not denied)

    def _is_choice(self, subjects: Things, things: Things) -> bool:
        """Whether one of several is meant: "on the tray or the table", "a cat or a dog is …"."""
        between = [(group[0].end, group[-1].start) for group in (subjects, things) if len(group) > 1]
        ors = [c.start for c in self.cursor.items if c.low == "or"]
        return self.clause.either or any(start <= place < end for place in ors for start, end in between)

    def _one(self, subject: Chunk, relation: Chunk, thing: Chunk, denied: bool) -> None:
        said = [c for c in (subject, relation, thing) if c.start >= self.sentence.start]
        start, end = min(c.start for c in said), max(c.end for c in said)
        pictured = is_scene(subject) and relation.name in IN_SCENES
        # "below a framed photo" is below a thing, "in the photo" is in the picture itself.
        framed = is_scene(thing) and not thing.marks & {"definite", "own", "bare"} and relation.name not in IN_SCENES
        taken = self.clause.verb is not None and self.clause.verb.lemma in TAKING
        pictured |= is_scene(subject) and taken
        if pictured or (is_place(subject) and not is_scene(subject)) or (is_place(thing) and not framed):
            return
        if subject.noun in FRAMES and not compound(subject):
            return  # "The answer is in the picture."
        vague = [c.name for c in (subject, thing) if _is_vague(c)]
        if thing.noun in ("side", "sides") and thing.start > relation.start:
            self.reader.doubt(start, end, "it does not say which side")
        elif vague:
            self.reader.doubt(start, end, f'"{vague[0]}" leaves open what is meant')
        elif subject.name.lower() == thing.name.lower():
            self.reader.doubt(start, end, "it names one thing twice")
        else:
            answer = "no" if denied else "yes"
            # "The cat is not on the sofa" speaks of a cat, "there is no cat on the sofa" of none.
            self.reader.supposed += [thing] if denied and not subject.marks & {"definite", "own"} else [subject, thing]
            naming = (subject.naming, thing.naming)
            self.reader.claims.append(
                TextClaim(
                    "relation", subject.name, relation.name, thing.name, answer, start, end,
                    relation.phrase, self.clause.hedged, naming,
                )
            )  # fmt: skip


def _is_vague(thing: Chunk) -> bool:
    """Whether a name leaves open what is meant: "the other", "the two", "the smaller"; a stove top is no top."""
    number = thing.tag in ("CRD", "ORD", "AJC", "AJS") and (thing.noun.isalpha() or thing.noun.isdigit())  # no "box12"
    return (thing.noun in words()["modes.vague"] or number) and not compound(thing)
