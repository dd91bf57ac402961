"""Which things a relation phrase is about, once it is met."""

from __future__ import annotations

from dataclasses import replace

from recap.claims.text.chunks import Chunk
from recap.claims.text.claiming import SentenceRead
from recap.claims.text.clause import Clause, living, subjects_of
from recap.claims.text.cursor import Things
from recap.claims.text.idioms import is_clothes, is_idiom, is_place, may_be_shown
from recap.claims.text.pronouns import as_object, fits, only_one, owns
from recap.claims.text.words import words

LOOKED = ("above", "below", "behind", "inside", "in_front_of")
"""where one may look without being there"""


class RelationReading(SentenceRead):
    """The part of a sentence's reading that begins at a relation phrase."""

    def _relation(self, item: Chunk) -> None:
        clause, cursor, before = self.clause, self.cursor, self.cursor.before(item)
        denied = clause.denied or (before is not None and before.kind == "not")
        follows = cursor.ahead()
        if item.phrase.startswith("its "):
            things = clause.owners or self._meant(item, None)
            if things and not clause.subjects and not clause.owned:
                clause.fronted.append((item, things, denied))
            elif things:
                self._claim(subjects_of(clause, cursor, item, things), item, things, denied)
            return None
        if follows is not None and follows.low in ("which", "whom") and (clause.last or clause.subjects):
            return self._behind_which(item)
        if follows is not None and follows.kind == "mutual":
            return self._mutual(item, follows, denied)
        while cursor.peek() in ("other", "not") and cursor.peek(1) == "thing":
            denied |= cursor.peek() == "not"
            cursor.at += 1
        if self._is_unjoined(item):
            clause.unjoined.append((item, denied))
            return None
        if clause.unjoined and cursor.comes("comma", "thing"):
            cursor.at += 1  # "on, not under, the bed"
        if cursor.peek() != "thing" or item.phrase in ("on top", "in front"):
            return self._without_object(item, denied)
        first = cursor.items[cursor.at]
        cursor.at += 1
        denied |= "no" in first.marks
        joined = before is not None and before.kind in ("and", "comma", "but")
        inverted = joined and bool(clause.subjects) and self._subject_follows()
        group = cursor.group(first, open_ended=False)
        if inverted:
            self.clause = clause = Clause(unreal=clause.unreal)  # "…, and above them hangs a painting"
        things = [m for each in group for m in (self._meant(item, each) if "pronoun" in each.marks else [each])]
        self._note(group)
        unjoined, clause.unjoined = clause.unjoined, []
        if not things or self._is_no_place(item, things, first):
            return None
        clause.either |= self._another_may_be()
        if not self._may_claim(item, things):
            clause.prepped = things[-1]
            self._aim(item, things)
            return None
        if before is not None and before.lemma in words()["verbs.looking"] and item.name in LOOKED:
            return self.reader.doubt(before.start, max(c.end for c in group), "it says where somebody looks")
        if before is not None and (why := may_be_shown(item, before, things)):
            return self.reader.doubt(before.start, max(c.end for c in group), why)
        # A pronoun is part of the claim's place, though not of its name.
        pronouns = [t for c in group if "pronoun" in c.marks for t in c.tokens]
        placed = replace(item, tokens=(*item.tokens, *pronouns))
        if clause.subjects or clause.owned or clause.objects:
            subjects = subjects_of(clause, cursor, item, things)
            denied |= clause.without and all(c in clause.owned for c in subjects)
            for relation, is_denied in unjoined:
                self._claim(subjects, relation, things, is_denied)
            self._claim(subjects, placed, things, denied)
            clause.denied &= before is None or before.kind != "not"
            self._contrast(item, subjects, things, denied)
        else:
            clause.fronted += [(relation, things, is_denied) for relation, is_denied in unjoined]
            clause.fronted.append((placed, things, denied))
        clause.last, clause.last_relation = things, item.name
        return None

    def _aim(self, preposition: Chunk, things: Things) -> None:
        """ "looks at the ball under the chair": the ball is. The camera, or his own phone, is where he is."""
        verb = self.clause.verb
        where = {"at": "verbs.aiming", "toward": "verbs.aiming", "towards": "verbs.aiming", "to": "verbs.pointing"}
        aims = verb is not None and verb.lemma in words().sets.get(where.get(preposition.low, ""), ())
        if aims and not any("own" in c.marks or c.noun in ("camera", "viewer", "photographer") for c in things):
            self._go_inside(things)

    def _go_inside(self, subjects: Things) -> None:
        """What follows is said of these; the clause around goes on with its next verb."""
        self.outer.append(self.clause)
        self.clause = replace(self.clause.inner(subjects), verb=self.clause.verb, aside=True)

    def _mutual(self, item: Chunk, other: Chunk, denied: bool) -> None:
        """ "The cat and the dog are next to each other" says it of the cat and the dog, if it holds both ways."""
        self.cursor.at += 1
        things = self.clause.owned or self.clause.subjects
        if len(things) == 2 and item.name in words()["modes.mutual"]:
            self._claim(things[:1], item, things[1:], denied)
        else:
            start = min([item.start, *(c.start for c in things if c.start >= self.sentence.start)])
            self.reader.doubt(start, other.end, f'"{other.low}" leaves open which thing is meant')

    def _is_unjoined(self, item: Chunk) -> bool:
        """Whether another relation comes before the object of this one: "left of and behind the sofa"."""
        if item.phrase in words().adverbs and self.clause.owned:
            return False
        skip = 0
        while self.cursor.peek(skip) in ("comma", "and", "but", "not") or self._adverb(skip):
            skip += 1
        relation = self.cursor.ahead(skip)
        return (
            0 < skip < 4
            and self.cursor.peek(skip - 1) != "comma"
            and relation is not None
            and relation.kind == "relation"
        )

    def _adverb(self, ahead: int) -> bool:
        item = self.cursor.ahead(ahead)
        return item is not None and item.kind == "other" and item.tokens[0].tag == "AV0"

    def _another_may_be(self) -> bool:
        """Whether "or" and another place follow: "on the tray or on the table"."""
        skip = 1 if self.cursor.peek() == "comma" else 0
        either = self.cursor.ahead(skip)
        return either is not None and either.low == "or" and self.cursor.peek(skip + 1) == "relation"

    def _contrast(self, item: Chunk, subjects: Things, things: Things, denied: bool) -> None:
        """ "on the bed, not the sofa", "on the shelf rather than the table": the same, denied of another thing."""
        skip = 1 if self.cursor.peek() == "comma" else 0
        another, after = self.cursor.ahead(skip + 1), self.cursor.peek(skip + 2)
        if self.cursor.peek(skip) != "not" or another is None or another.kind != "thing" or denied:
            return
        if "pronoun" in another.marks or after in ("verb", "relation", "with", "which"):
            return
        self.cursor.at += skip + 2
        self._note([another])
        if living(subjects) == living([another]) != living(things):
            self._claim([another], item, things, True)  # "the dog is on the bed, not the cat"
        else:
            self._claim(subjects, item, [another], True)

    def _is_no_place(self, item: Chunk, things: Things, said: Chunk) -> bool:
        """An idiom, or a relation among three things."""
        clause, before = self.clause, self.cursor.before(item)
        if item.name == "between" and (len(things) > 1 or things[0].plural):
            end = max([item.end, said.end, *(c.end for c in things if c.start >= self.sentence.start)])
            self.reader.doubt(item.start, end, '"between" relates three things')
            return True
        verb = before if before is not None and before.kind == "verb" else None
        whom = (clause.owned or clause.subjects) + ([before] if before is not None and before.kind == "thing" else [])
        if not is_idiom(item, things[0], whom, said, verb):
            return False
        while is_clothes(said) and self.cursor.comes("and", "thing") and is_clothes(self.cursor.ahead(1)):
            self.cursor.at += 2  # "in sunglasses and a straw hat"
        held = clause.verb is not None and bool(clause.objects) and clause.verb.lemma in words()["verbs.holding"]
        return not ("own" in said.marks and (clause.owned or held))

    def _meant(self, relation: Chunk, pronoun: Chunk | None) -> Things:
        """What a pronoun after a relation phrase means; without one, whose side "to its left" is."""
        if pronoun is not None and pronoun.low not in ("it", "them", "him", "her"):
            return []
        # What the sentence itself names comes first; where nothing there fits, what the one before it names.
        found: Things = []
        for named in (self.named, self.reader.earlier):
            found = self._fitting(relation, pronoun, named)
            others = [c for c in named if c not in self.clause.subjects + self.clause.owned]
            if found or any(owns(_possessive(relation), c) if pronoun is None else fits(pronoun, c) for c in others):
                break
        known = [] if pronoun is None else self.meant.get(pronoun.low, [])
        if not found and not any(c in self.clause.subjects for c in known):
            found = known  # the same pronoun means the same thing: "a desk with a lamp on it …, and a chair beside it"
        if pronoun is not None and found:
            self.meant[pronoun.low] = found
        if not found:
            said = pronoun or relation
            self.reader.doubt(relation.start, max(relation.end, said.end), f'"{said.low}" may mean several things')
        return found

    def _fitting(self, relation: Chunk, pronoun: Chunk | None, named: Things) -> Things:
        """The one of these things that is meant, if there is one."""
        if pronoun is None:
            others = [c for c in named if c not in self.clause.subjects + self.clause.owned]
            return only_one(None, [c for c in others if owns(_possessive(relation), c)])
        opens = not self.clause.subjects and not self.clause.owned
        return as_object(pronoun, self.clause, self.reader.topic, named, opens=opens)

    def _subject_follows(self) -> bool:
        """Whether a verb and its subject come next: "… hangs a painting", "there is a lamp"."""
        verb = self.cursor.ahead()
        if verb is None or verb.kind == "there":
            return verb is not None
        return (
            self.cursor.comes("verb", "thing") and "finite" in verb.marks and verb.lemma in words()["verbs.positions"]
        )

    def _may_claim(self, item: Chunk, things: Things) -> bool:
        """Whether running text may claim this relation; the vaguer ones only where they are all that is said."""
        verb, before = self.clause.verb, self.cursor.before(item)
        if item.name == "by":
            made = verb is None or verb.tag in ("VVN", "VVD")
            return not (made and (before is verb or any(c.among("things.persons") for c in things)))
        if item.name in self.reader.relations or item.name in words().claimed:
            return True
        if any(c.noun in self.reader.lexicon.refuse["states"] for c in things):
            return False
        alone = self.cursor.shape() == ["thing", "relation", "thing"] and item.tokens[0].tag[0] == "V"
        return alone or self._is_bare()

    def _is_bare(self) -> bool:
        """Whether the sentence says nothing but "the … is … the …"."""
        verb, shape = self.clause.verb, self.cursor.shape()
        plain = shape in (["thing", "verb", "relation", "thing"], ["thing", "verb", "with", "thing"])
        return plain and verb is not None and "be" in verb.marks

    def _without_object(self, item: Chunk, denied: bool) -> None:
        """ "with a lamp on top", "has milk inside": the second thing is the one that has the first."""
        clause, relation = self.clause, words().adverbs.get(item.low)
        if relation and clause.owned and clause.owners and not clause.told and not is_place(clause.owners[0]):
            made = Chunk("relation", item.tokens, relation, item.low)
            self._claim(clause.owned, made, clause.owners, denied or clause.without)

    def _behind_which(self, item: Chunk) -> None:
        """ "a fence behind which a bear sits" """
        before = self.cursor.before(item, "comma")
        named = before is not None and before.kind == "thing" and "pronoun" not in before.marks
        things = [before] if before is not None and named else self.clause.last or self.clause.subjects[-1:]
        self.cursor.take()
        while self.cursor.peek() in ("there", "verb"):
            self.cursor.take()
        if self.cursor.peek() == "thing" and (subject := self.cursor.take()) is not None:
            self._claim(self._as_subjects([subject]), item, things, False)


def _possessive(relation: Chunk) -> str:
    """Whose side it is: "to her left" is hers."""
    return next((t.low for t in relation.tokens if t.low in ("his", "her", "their")), "its")
