"""Which things a relation phrase is about: a shallow grammar over chunks, from left to right, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recap.claims.text.chunker import chunks, relation_phrases
from recap.claims.text.chunks import Chunk
from recap.claims.text.claiming import FRAMES, NOT_SAID, TextRead
from recap.claims.text.clause import Clause, Fronted, owners_of_with
from recap.claims.text.cursor import Things, without_asides
from recap.claims.text.idioms import is_place
from recap.claims.text.names import POINTING
from recap.claims.text.tokens import LONGEST_SENTENCE, Sentence
from recap.claims.text.unread import COMPARED, NO_NAME, NOT_ENGLISH, compares, is_english, unread_emoji
from recap.claims.text.verbs import VerbReading
from recap.claims.text.words import words

ARTICLES = ("a", "an", "the")
OBSERVERS = ("you", "we", "i", "one")
ALWAYS_SHOWING = ("watch", "photograph", "depict", "portray", "illustrate")
"""verbs whose object is what follows is said of, whoever does it: "The mural depicts a ship on the sea." """


class Reader(TextRead):
    """Reads the sentences of one text in order; what was named before may be meant by a pronoun."""

    def read(self, sentence: Sentence) -> None:
        """One sentence's claims. A question makes none."""
        if not is_english(self.text[sentence.start : sentence.end]):
            return self._foreign(sentence)
        if sentence.asks:
            return None
        if len(sentence.tokens) > LONGEST_SENTENCE:
            self.doubt(sentence.start, sentence.end, f"it is a sentence of {len(sentence.tokens)} words")
            return None
        claims, doubts = len(self.claims), len(self.unsure)
        self._read(sentence)
        if sentence.tagged:
            for claim in self.claims[claims:]:
                self.doubt(claim.start, claim.end, "it asks for assent, and does not say that it is so")
            del self.claims[claims:]
        if len(self.claims) == claims and len(self.unsure) == doubts:
            self._passed_over(sentence)
        return None

    def _foreign(self, sentence: Sentence) -> None:
        """One doubt for all sentences in a row that are in another language."""
        last = self.unsure[-1] if self.unsure else None
        if last is not None and last.why == NOT_ENGLISH and not self.text[last.end : sentence.start].strip():
            self.unsure[-1] = replace(last, end=sentence.end)
        else:
            self.doubt(sentence.start, sentence.end, NOT_ENGLISH)

    def _passed_over(self, sentence: Sentence) -> None:
        """Say what a sentence may claim of which nothing was read."""
        start, end = sentence.start, sentence.end
        places = [(a, b) for _, a, b in relation_phrases(self.text[start:end], self.lexicon)]
        if unread_emoji(self.given[start:end], places):
            self.doubt(start, end, NO_NAME)
        elif (compared := compares(self.text[start:end])) is not None:
            self.doubt(start + compared[0], start + compared[1], COMPARED)

    def _read(self, sentence: Sentence) -> None:
        items, asides = without_asides(chunks(sentence, self.text, self.lexicon))
        heading = self.heading if sentence.listed else []
        reading = _Reading(self, items, sentence)
        reading.run(heading)
        if reading.named:
            self.earlier, self.topic = reading.named, reading.main_subjects or self.topic
        for aside in asides:
            _Reading(self, aside, sentence).run()


class _Reading(VerbReading):
    def run(self, heading: Sequence[Fronted] = ()) -> None:
        """Read all of it. `heading` says where the things of a list are, if this is an item of one."""
        kinds = {c.kind for c in self.cursor.items}
        self.reader.heading = list(heading)
        if heading and self.cursor.peek() == "thing" and not kinds & {"relation", "verb"}:
            self.clause.fronted = list(heading)
        head = self.cursor.ahead()
        if head is not None and head.low in ("had", "were", "should") and self.cursor.peek(1) == "thing":
            self.clause.unreal = True  # "Had the ladder been against the wall, …"
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
                    if not self._is_labelled(item) and not (item.low == ":" and self.cursor.ahead() is None):
                        self._close()
                case "there":
                    self.clause.there = True
                case "but":
                    self._leave_aside()
                    self.clause.denied = self.clause.either = False
                case "not":
                    self.clause.denied = True
                case "other":
                    self.clause.hedged |= item.low in words()["modes.hedges"]
                    self.clause.unreal |= item.low in words()["modes.unreal"] or item.low.endswith(" to")
                    self.clause.either |= item.low == "either"
                case _:
                    pass
        if self.cursor.items and self.cursor.items[-1].low == ":" and not self.reader.heading:
            self.reader.heading, self.clause.fronted = self.clause.fronted, []
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
        elif self._is_compared(item):
            self._go_inside([item])
            return self._note([item])
        elif before is not None and kind == "with":
            return self._with(item, before)
        elif before is not None and kind == "verb":
            return self._after_verb(item, before)
        elif clause.fronted and item.low in OBSERVERS and self._is_shown():
            return None  # "Behind the sofa you can see a lamp."
        elif kind == "prep":
            clause.prepped = item
            self._note([item])
            return self._aim(before, [item]) if before is not None else None
        if kind in ("and", "comma") and clause.owned and self.cursor.peek() == "relation":
            # "a desk with a lamp on top and a chair in front of it"
            if clause.owners and clause.owners[0].among("places.interiors"):
                clause.last = clause.last or clause.owned  # "a room with a couch and a table in front of it"
            clause.owned, clause.told = self.cursor.group(item, open_ended=True), False
            self._note(clause.owned)
            return None
        self._skip_apposition(item)
        excluded = self._excluded()
        denied = "no" in item.marks or (before is not None and before.low in ("neither", "nor"))
        group = self.cursor.group(item, open_ended=True)
        self._note(group)
        if clause.fronted and clause.verb is not None and not clause.subjects and not clause.there:
            return self._settle(group)  # "Hanging over the table is a chandelier."
        self._begin(group, denied)
        self.clause.excluded = excluded
        return None

    def _is_compared(self, item: Chunk) -> bool:
        """ "taller than the one behind it": what follows is said of the second of the two. "more than two" counts."""
        words_before = [t.low for c in self.cursor.items[: self.cursor.at] if c.end <= item.start for t in c.tokens][
            -3:
        ]
        if words_before and words_before[-1] in POINTING:
            words_before.pop()
        counts = len(words_before) > 1 and words_before[-2] in ("more", "less", "fewer", "other", "rather")
        return bool(self.clause.subjects) and words_before[-1:] == ["than"] and not counts

    def _excluded(self) -> Things:
        """ "The dog, not the cat, is …" """
        skip = 0
        while self.cursor.peek(skip) in ("comma", "but", "and"):
            skip += 1
        thing = self.cursor.ahead(skip + 1)
        end = skip + (3 if self.cursor.peek(skip + 2) == "comma" else 2)
        if self.cursor.peek(skip) != "not" or thing is None or thing.kind != "thing" or self.cursor.peek(end) != "verb":
            return []
        nor = self.cursor.ahead(skip)
        if nor is not None and nor.low in ("nor", "neither"):
            return []
        self.cursor.at += end
        return [thing]

    def _is_shown(self) -> bool:
        """Whether somebody sees something next, and no more is said of who does."""
        verb = self.cursor.ahead()
        return self.cursor.comes("verb", "thing") and verb is not None and verb.lemma in words()["verbs.showing"]

    def _skip_apposition(self, item: Chunk) -> None:
        """ "The dog, a golden retriever, is …" and "Two people, a man and a woman, are …" name the same twice."""
        again = self.cursor.ahead(1)
        if self.cursor.peek() == "comma" and (skipped := self._interjection()):
            self.cursor.at += skipped
        elif self.cursor.comes("comma", "thing", "comma", "verb") and again is not None:
            self.cursor.at += 3 if again.tokens[0].low in ARTICLES else 0
        elif item.plural and self.cursor.comes("comma", "thing", "and", "thing", "comma", "verb"):
            self.cursor.at += 5

    def _interjection(self) -> int:
        """How many chunks ", as far as I can tell," has before the verb of the sentence; 0 if there is none."""
        rest = self.cursor.items[self.cursor.at + 1 : self.cursor.at + 9]
        end = next((place for place, c in enumerate(rest) if c.kind == "comma"), 0)
        inside, verb = rest[:end], self.cursor.ahead(end + 2)
        spoken = any(c.low in OBSERVERS for c in inside) or (inside and inside[0].low in ("as", "it"))
        if not spoken or verb is None or verb.kind != "verb" or any(c.kind == "relation" for c in inside):
            return 0
        return end + 2

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
            clause.without = preposition.low == "without"
        return None

    def _after_verb(self, item: Chunk, verb: Chunk) -> None:
        clause, follows = self.clause, self.cursor.ahead()
        complement = "finite" in verb.marks and "be" not in verb.marks and follows is not None
        if complement and follows and "finite" in follows.marks and not self.outer and not clause.fronted:
            # "I believe the towel is …": a clause of its own.
            self.clause = Clause(hedged=clause.hedged, unreal=clause.unreal, denied=clause.denied)
            return self._begin(self.cursor.group(item, open_ended=True), "no" in item.marks)
        presented = any(c.noun in words()["modes.presented"] for c in clause.subjects)
        nobody = not clause.subjects or any(is_place(c) for c in clause.subjects) or presented
        shows = verb.lemma in words()["verbs.showing"] and (nobody or verb.lemma in ALWAYS_SHOWING)
        depicts = verb.lemma in words()["verbs.depicting"] and verb.tag != "VVN"
        shows |= depicts and any(c.among("places.depictions") for c in clause.subjects)
        has = verb.lemma in words()["verbs.having"]
        inverted = bool(clause.fronted) and not clause.subjects
        if not (inverted or clause.there or shows or has or (nobody and "be" in verb.marks)):
            # What follows "wearing bells and a hat" is where the one is who wears them.
            clause.objects = self.cursor.group(item, open_ended=verb.lemma == "wear")
            return self._note(clause.objects)
        group = self.cursor.group(item, open_ended=True, after_verb=True)
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

    def _is_labelled(self, colon: Chunk) -> bool:
        """ "Mug: on the table", "On the table: a mug": the clause goes on behind the colon."""
        clause, after = self.clause, self.cursor.ahead()
        if colon.low != ":" or after is None or clause.verb is not None or clause.last:
            return bool(colon.low == ":" and after and after.kind == "thing" and clause.fronted and not clause.subjects)
        no_thing = FRAMES | words()["modes.labels"]
        named = bool(clause.subjects) and not any(is_place(c) or c.noun in no_thing for c in clause.subjects)
        return named and (
            after.kind == "relation" or (after.kind == "verb" and after.lemma in words()["verbs.positions"])
        )

    def _close(self) -> None:
        """The end of a clause that cannot go on."""
        for relation, things, _ in self.clause.fronted:
            here = [c.end for c in things if c.start >= self.sentence.start]
            self.reader.doubt(relation.start, max([relation.end, *here]), NOT_SAID)
        self.clause, self.outer = Clause(), []
