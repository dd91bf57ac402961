"""Which things a relation phrase is about: a shallow grammar over chunks, from left to right, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence

from recap.claims.lexicon import Lexicon
from recap.claims.text.chunker import chunks
from recap.claims.text.chunks import Chunk
from recap.claims.text.clause import Clause, living, owners_of_with, subjects_of
from recap.claims.text.cursor import Cursor, Things
from recap.claims.text.idioms import is_clothes, is_idiom, is_place, is_scene
from recap.claims.text.model import TextClaim, Unsure
from recap.claims.text.pronouns import as_object, as_subject, only_one
from recap.claims.text.tokens import LONGEST_SENTENCE, Sentence
from recap.claims.text.words import words

NOT_SAID = "it does not say what is there"
FRAMES = frozenset(("answer", "yes", "no", "perspective", "viewpoint", "view", "course", "explanation", "caption"))
ARTICLES = ("a", "an", "the")


class Reader:
    """Reads the sentences of one text in order; what was named before may be meant by a pronoun."""

    def __init__(self, text: str, lexicon: Lexicon, relations: frozenset[str]) -> None:
        self.text, self.lexicon, self.relations = text, lexicon, relations
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

    def read(self, sentence: Sentence) -> None:
        """One sentence's claims. A question makes none."""
        if sentence.asks:
            return
        if len(sentence.tokens) > LONGEST_SENTENCE:
            self.doubt(sentence.start, sentence.end, f"it is a sentence of {len(sentence.tokens)} words")
            return
        reading = _Reading(self, chunks(sentence, self.text, self.lexicon), sentence)
        reading.run()
        if reading.named:
            self.earlier, self.topic = reading.named, reading.main_subjects or self.topic

    def doubt(self, start: int, end: int, why: str) -> None:
        """Say that something was not understood."""
        self.unsure.append(Unsure(start, end, why))


class _Reading:
    def __init__(self, reader: Reader, items: Sequence[Chunk], sentence: Sentence) -> None:
        self.reader, self.cursor, self.sentence = reader, Cursor(items), sentence
        self.clause: Clause = Clause()
        self.outer: list[Clause] = []
        """the clauses around a relative one"""
        self.named: Things = []
        self.main_subjects: Things = []

    def run(self) -> None:
        if self._commands():
            if "relation" in self.cursor.shape():
                self.reader.doubt(self.sentence.start, self.sentence.end, "it tells somebody to do something")
            return
        self._skip_frame()
        while (item := self.cursor.take()) is not None:
            match item.kind:
                case "thing":
                    self._thing(item)
                case "verb":
                    self._verb(item)
                case "relation":
                    self._relation(item)
                case "which":
                    self._which(item)
                case "stop":
                    self._close()
                case "there":
                    self.clause.there = True
                case "but":
                    self.clause.denied = False
                case "not":
                    self.clause.denied = True
                case "other":
                    self.clause.hedged |= item.low in words()["modes.hedges"]
                    self.clause.unreal |= item.low in words()["modes.unreal"]
                case _:
                    pass
        self._close()

    def _commands(self) -> bool:
        """ "Put the mug on the table." """
        head = self.cursor.ahead()
        if head is None or head.tokens[0].low not in words()["modes.imperatives"]:
            return False
        return head.kind != "thing" or (head.noun in words()["modes.imperatives"] and self.cursor.peek(1) == "thing")

    def _skip_frame(self) -> None:
        """ "In the image, …", "Yes, …", "Answer: …" say nothing of where things are."""
        for place, item in enumerate(self.cursor.items[:8]):
            head = self.cursor.items[:place]
            if item.kind in ("comma", "stop") and 0 < place < len(self.cursor.items) - 1:
                related = any(c.kind == "relation" for c in head)
                things = [c for c in head if c.kind == "thing"]
                framed = all(is_place(c) or c.noun in FRAMES or ("pronoun" in c.marks and not related) for c in things)
                if framed and not any({"finite", "be"} <= c.marks for c in head):
                    self.cursor.at = place + 1
            elif item.kind in ("which", "but"):
                return

    # Names

    def _thing(self, item: Chunk) -> None:
        clause, before = self.clause, self.cursor.before(item)
        kind = before.kind if before is not None else "stop"
        if before is not None and before.low == "like" and self.cursor.peek() == "verb":
            clause.hedged = True  # "it looks like the cat is …"
        elif before is not None and kind == "with":
            return self._with(item, before)
        elif before is not None and kind == "verb":
            return self._after_verb(item, before)
        elif kind == "prep":
            clause.prepped = item
            self._note([item])
            return None
        if kind in ("and", "comma") and clause.owned and self.cursor.peek() == "relation":
            # "a desk with a lamp on top and a chair in front of it"
            clause.owned = self.cursor.group(item, open_ended=True)
            self._note(clause.owned)
            return None
        self._skip_apposition(item)
        denied = "no" in item.marks or (before is not None and before.low in ("neither", "nor"))
        group = self.cursor.group(item, open_ended=True)
        self._note(group)
        if clause.fronted and clause.verb is not None and not clause.subjects and not clause.there:
            return self._settle(group)  # "Hanging over the table is a chandelier."
        return self._begin(group, denied)

    def _skip_apposition(self, item: Chunk) -> None:
        """ "The dog, a golden retriever, is …" and "Two people, a man and a woman, are …" name the same twice."""
        again = self.cursor.ahead(1)
        if self.cursor.comes("comma", "thing", "comma", "verb") and again is not None:
            self.cursor.at += 3 if again.tokens[0].low in ARTICLES else 0
        elif item.plural and self.cursor.comes("comma", "thing", "and", "thing", "comma", "verb"):
            self.cursor.at += 5

    def _with(self, item: Chunk, preposition: Chunk) -> None:
        clause = self.clause
        if self._is_bare():
            made = Chunk("relation", preposition.tokens, "with", "with")
            return self._claim(clause.subjects, made, [item], clause.denied)
        owners = owners_of_with(clause, self.cursor, preposition)
        group = self.cursor.group(item, open_ended=True)
        self._note(group)
        if owners is not None:
            clause.owners, clause.owned, clause.told = owners, group, False
            clause.denied |= preposition.low == "without"
        return None

    def _after_verb(self, item: Chunk, verb: Chunk) -> None:
        clause, follows = self.clause, self.cursor.ahead()
        complement = "finite" in verb.marks and "be" not in verb.marks and follows is not None
        if complement and follows and "finite" in follows.marks and not self.outer and not clause.fronted:
            # "I believe the towel is …": a clause of its own.
            self.clause = Clause(hedged=clause.hedged, unreal=clause.unreal, denied=clause.denied)
            return self._begin(self.cursor.group(item, open_ended=True), "no" in item.marks)
        nobody = not clause.subjects or any(is_place(c) for c in clause.subjects)
        shows = verb.lemma in words()["verbs.showing"] and (nobody or verb.lemma in ("watch", "photograph"))
        has = verb.lemma in words()["verbs.having"]
        inverted = bool(clause.fronted) and not clause.subjects
        if not (inverted or clause.there or shows or has or (nobody and "be" in verb.marks)):
            clause.objects = self.cursor.group(item, open_ended=False)
            return self._note(clause.objects)
        group = self.cursor.group(item, open_ended=True)
        self._note(group)
        if inverted:
            return self._settle(group)
        denied = clause.denied or any("no" in c.marks for c in group)
        if has and not (clause.there or shows):
            clause.owners, clause.owned, clause.denied = clause.subjects, group, denied
            return None
        self.clause = Clause(
            subjects=self._as_subjects(group), denied=denied, hedged=clause.hedged, unreal=clause.unreal
        )
        self._set_topic()
        if not clause.unreal and not denied:
            self.reader.supposed += self.clause.subjects
        elif not clause.unreal and clause.there and self.cursor.peek() == "stop":
            self.reader.absent += self.clause.subjects
        return None

    def _begin(self, group: Things, denied: bool) -> None:
        """A new clause with this subject, of which what stood before it may already have told."""
        kept, before = self.clause, self.cursor.before(group[0], "comma")
        opening = not kept.subjects
        self.clause = Clause(
            subjects=self._as_subjects(group),
            denied=denied or (kept.denied and opening),
            hedged=kept.hedged and opening,
            unreal=kept.unreal,
            there=kept.there,
        )
        if kept.verb is None and before is not None and before.kind == "and":
            self.clause.joined = kept.joined + kept.subjects
        self._set_topic()
        for relation, things, is_denied in kept.fronted:
            self._claim(self.clause.subjects, relation, things, is_denied or denied)

    def _settle(self, group: Things) -> None:
        """Inversion: the subject has come after its relation and verb."""
        clause = self.clause
        clause.subjects = self._as_subjects(group)
        clause.denied |= any("no" in c.marks for c in group)
        self._set_topic()
        fronted, clause.fronted = clause.fronted, []
        for relation, things, is_denied in fronted:
            self._claim(clause.subjects, relation, things, is_denied or clause.denied)

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
        self.named += [c for c in things if "pronoun" not in c.marks]

    # Verbs and clauses

    def _verb(self, item: Chunk) -> None:
        clause, before = self.clause, self.cursor.before(item)
        # "toys piled on it" after "with": a past form that is a participle.
        finite = "finite" in item.marks and not (clause.owned and item.tag == "VVD" and len(item.tokens) == 1)
        if finite and self.outer and clause.verb is not None:
            self.clause = clause = self.outer.pop()  # the relative clause has its verb; this one is the sentence's
        aside = before is not None and before.kind == "comma"  # "a tray with a cup on it, sitting on a bed"
        if clause.owned and (finite or aside or living(clause.owners)):
            clause.owned = []
        if finite and clause.verb is not None and clause.subjects and before is not None:
            clause.denied &= before.kind not in ("and", "comma", "but")
        neighbour = before is not None and (before in clause.last or before in clause.objects)
        if item.tag == "VVN" and not finite and before is not None and neighbour and clause.subjects:
            # "a car parked in front of a house": the participle goes with the thing right before it.
            self.outer.append(clause)
            self.clause = clause = clause.inner([before])
        if clause.verb is None or finite or "participle" in item.marks:
            clause.verb, clause.objects = item, []
        if finite and clause.joined and (item.tokens[0].low in ("are", "were", "have") or item.tokens[0].tag == "VVB"):
            clause.subjects, clause.joined = clause.joined + clause.subjects, []
        clause.denied |= "not" in item.marks
        clause.hedged |= "hedged" in item.marks
        clause.unreal |= "unreal" in item.marks

    def _which(self, item: Chunk) -> None:
        """A relative clause speaks of the thing before it."""
        before, kept = self.cursor.before(item, "comma"), self.clause
        if before is None or before.kind != "thing" or "pronoun" in before.marks:
            # "It appears that …", "I think that …": a clause of its own.
            denied = kept.denied and self.cursor.peek() != "thing"
            self.clause = Clause(hedged=kept.hedged, unreal=kept.unreal, denied=denied)
            return
        self.outer.append(kept)
        self.clause = kept.inner(list(kept.subjects) if before in kept.subjects else [before])

    def _close(self) -> None:
        """The end of a clause that cannot go on."""
        for relation, things, _ in self.clause.fronted:
            here = [c.end for c in things if c.start >= self.sentence.start]
            self.reader.doubt(relation.start, max([relation.end, *here]), NOT_SAID)
        self.clause, self.outer = Clause(), []

    # Relations

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
        while cursor.peek() in ("other", "not") and cursor.peek(1) == "thing":
            denied |= cursor.peek() == "not"
            cursor.at += 1
        if cursor.peek() != "thing" or item.phrase in ("on top", "in front"):
            return self._without_object(item, denied)
        first = cursor.items[cursor.at]
        cursor.at += 1
        denied |= "no" in first.marks
        joined = before is not None and before.kind in ("and", "comma", "but")
        inverted = joined and bool(clause.subjects) and self._subject_follows()
        group = cursor.group(first, open_ended=False)
        things = [m for each in group for m in (self._meant(item, each) if "pronoun" in each.marks else [each])]
        if inverted:
            self.clause = clause = Clause(unreal=clause.unreal)  # "…, and above them hangs a painting"
        self._note(group)
        if not things or self._is_no_place(item, things, first):
            return None
        if not self._may_claim(item, things):
            clause.prepped = things[-1]
            return None
        if clause.subjects or clause.owned or clause.objects:
            self._claim(subjects_of(clause, cursor, item, things), item, things, denied)
            clause.denied &= before is None or before.kind != "not"
        else:
            clause.fronted.append((item, things, denied))
        clause.last, clause.last_relation = things, item.name
        return None

    def _is_no_place(self, item: Chunk, things: Things, said: Chunk) -> bool:
        """An idiom, or a relation among three things."""
        clause, before = self.clause, self.cursor.before(item)
        if item.name == "between" and (len(things) > 1 or things[0].plural):
            end = max([item.end, said.end, *(c.end for c in things if c.start >= self.sentence.start)])
            self.reader.doubt(item.start, end, '"between" relates three things')
            return True
        verb = before if before is not None and before.kind == "verb" else None
        if not is_idiom(item, things[0], clause.owned or clause.subjects, said, verb):
            return False
        while is_clothes(said) and self.cursor.comes("and", "thing") and is_clothes(self.cursor.ahead(1)):
            self.cursor.at += 2  # "in sunglasses and a straw hat"
        held = clause.verb is not None and bool(clause.objects) and clause.verb.lemma in words()["verbs.holding"]
        return not ("own" in said.marks and (clause.owned or held))

    def _meant(self, relation: Chunk, pronoun: Chunk | None) -> Things:
        """What a pronoun after a relation phrase means; without one, whose side "to its left" is."""
        named = self.named or self.reader.earlier
        if pronoun is None:
            others = [c for c in named if c not in self.clause.subjects + self.clause.owned and not is_place(c)]
            found = only_one(None, others)
        elif pronoun.low in ("it", "them", "him", "her"):
            opens = not self.clause.subjects and not self.clause.owned
            found = as_object(pronoun, self.clause, self.reader.topic, named, opens=opens)
        else:
            return []
        if not found:
            said = pronoun or relation
            self.reader.doubt(relation.start, max(relation.end, said.end), f'"{said.low}" may mean several things')
        return found

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
        if relation and clause.owned and clause.owners and not is_place(clause.owners[0]):
            made = Chunk("relation", item.tokens, relation, item.low)
            self._claim(clause.owned, made, clause.owners, denied)

    def _behind_which(self, item: Chunk) -> None:
        """ "a fence behind which a bear sits" """
        things = self.clause.last or self.clause.subjects[-1:]
        self.cursor.take()
        while self.cursor.peek() in ("there", "verb"):
            self.cursor.take()
        if self.cursor.peek() == "thing" and (subject := self.cursor.take()) is not None:
            self._claim(self._as_subjects([subject]), item, things, False)

    # Claims

    def _claim(self, subjects: Things, relation: Chunk, things: Things, denied: bool) -> None:
        said = [c for c in (*subjects, relation, *things) if c.start >= self.sentence.start]
        start, end = min(c.start for c in said), max(c.end for c in said)
        if self.clause.unreal:
            self.reader.doubt(start, end, "it is supposed or wished, not said to be so")
        elif not subjects:
            self.reader.doubt(start, end, NOT_SAID)
        else:
            for subject in subjects:
                for thing in things:
                    self._one(subject, relation, thing, denied)

    def _one(self, subject: Chunk, relation: Chunk, thing: Chunk, denied: bool) -> None:
        said = [c for c in (subject, relation, thing) if c.start >= self.sentence.start]
        start, end = min(c.start for c in said), max(c.end for c in said)
        pictured = is_scene(subject) and relation.name in ("inside", "contains")
        if pictured or (is_place(subject) and not is_scene(subject)) or is_place(thing):
            return
        vague = [c.name for c in (subject, thing) if c.noun in words()["modes.vague"]]
        if thing.noun in ("side", "sides"):
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
