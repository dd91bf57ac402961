"""Clauses: which things a relation phrase is about. A shallow grammar over chunks, from left to right, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from recap.claims.lexicon import Lexicon
from recap.claims.text.chunks import Chunk, chunks
from recap.claims.text.idioms import is_idiom, is_place
from recap.claims.text.model import TextClaim, Unsure
from recap.claims.text.tokens import Sentence
from recap.claims.text.words import words

Things = list[Chunk]


@dataclass
class Clause:
    """What has been read of the clause so far."""

    subjects: Things = field(default_factory=list[Chunk])
    verb: Chunk | None = None
    objects: Things = field(default_factory=list[Chunk])
    """of the verb"""
    owners: Things = field(default_factory=list[Chunk])
    owned: Things = field(default_factory=list[Chunk])
    """what the owners have, or are with"""
    last: Things = field(default_factory=list[Chunk])
    """the object of the last relation"""
    last_relation: str = ""
    fronted: list[tuple[Chunk, Things, bool]] = field(default_factory=list[tuple[Chunk, Things, bool]])
    """relations that stand before their subject, with their objects, and whether they are denied"""
    denied: bool = False
    hedged: bool = False
    unreal: bool = False
    there: bool = False
    copular: bool = False


class Reader:
    """Reads the sentences of one text; what was named before may be meant by a pronoun."""

    def __init__(self, text: str, lexicon: Lexicon, relations: frozenset[str]) -> None:
        self.text, self.lexicon, self.relations = text, lexicon, relations
        self.claims: list[TextClaim] = []
        self.unsure: list[Unsure] = []
        self.asserted: Things = []
        """things that a sentence says are there"""
        self.topic: Things = []
        """the subject of the clause before"""
        self.earlier: Things = []
        """what the sentence before names"""

    def read(self, sentence: Sentence) -> None:
        """One sentence's claims."""
        if sentence.asks:
            return
        reading = _Reading(self, chunks(sentence, self.text, self.lexicon), sentence)
        reading.run()
        named = [c for c in reading.named if "pronoun" not in c.marks]
        if named:
            self.earlier = named
            self.topic = reading.first_subjects or self.topic

    def doubt(self, start: int, end: int, why: str) -> None:
        self.unsure.append(Unsure(start, end, why))


class _Reading:
    def __init__(self, reader: Reader, items: Sequence[Chunk], sentence: Sentence) -> None:
        self.reader, self.items, self.sentence = reader, items, sentence
        self.clause = Clause()
        self.outer: list[Clause] = []
        self.named: Things = []
        self.first_subjects: Things = []
        self.at = 0

    def run(self) -> None:
        first = self.sentence.tokens[0].low
        if first in words()["modes.imperatives"] and self._peek(0) in ("verb", "other", "thing") and self._imperative():
            if any(item.kind == "relation" for item in self.items):
                self.reader.doubt(self.sentence.start, self.sentence.end, "it tells somebody to do something")
            return
        self._frame()
        while self.at < len(self.items):
            item = self.items[self.at]
            self.at += 1
            match item.kind:
                case "thing":
                    self._thing(item)
                case "verb":
                    self._verb(item)
                case "relation":
                    self._relation(item)
                case "which":
                    self._which()
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

    def _imperative(self) -> bool:
        head = self.items[0]
        return head.kind == "verb" or head.low in ("please", "let") or head.kind == "thing" and head.noun in words()["modes.imperatives"] and self._peek(1) == "thing"

    def _frame(self) -> None:
        """ "In the image, …", "Yes, …", "Answer: …" say nothing of where things are."""
        for place, item in enumerate(self.items[:8]):
            inside = all(not is_place(c, scenes=True) or True for c in self.items[:place])
            if item.kind in ("comma", "stop") and place and inside:
                head = self.items[:place]
                things = [c for c in head if c.kind == "thing"]
                verbs = [c for c in head if c.kind == "verb"]
                framed = all(is_place(c, scenes=True) or "pronoun" in c.marks or c.noun in ("answer", "yes", "no", "perspective", "viewpoint", "view", "course") for c in things)
                if framed and not any("finite" in v.marks and "be" in v.marks for v in verbs) and not any(c.kind == "which" for c in head):
                    self.at = place + 1
            elif item.kind in ("which", "but"):
                return

    def _peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.items[place].kind if place < len(self.items) else "stop"

    # Names

    def _group(self, first: Chunk, *, open_ended: bool) -> Things:
        """Things named together: "a fork, a knife and a spoon". Where a new clause begins the list has ended."""
        group = [first]
        while self._peek() in ("comma", "and", "not"):
            skip = 0
            while self._peek(skip) in ("comma", "and", "not") or (self._peek(skip) == "other" and self.items[self.at + skip].low in ("also", "even")):
                skip += 1
            joined = {self.items[self.at + k].kind for k in range(skip)}
            if self._peek(skip) != "thing" or (("not" in joined) and "nor" not in {self.items[self.at + k].low for k in range(skip)}):
                break
            after = self._peek(skip + 1)
            if not open_ended and after in ("verb", "relation", "with"):
                break
            if "and" not in joined and not self._listed(skip):
                break
            group.append(self.items[self.at + skip])
            self.at += skip + 1
        return group

    def _listed(self, skip: int) -> bool:
        """Whether a list that goes on with a comma ends with an "and"."""
        place = self.at + skip
        while place < len(self.items) and self.items[place].kind in ("thing", "comma"):
            place += 1
        return place < len(self.items) and self.items[place].kind == "and"

    def _before(self, back: int = 2) -> Chunk | None:
        """The chunk before the one just taken, adverbs left out."""
        place = self.at - back
        while place >= 0 and self.items[place].kind == "other":
            place -= 1
        return self.items[place] if place >= 0 else None

    def _thing(self, item: Chunk) -> None:
        clause, before = self.clause, self._before()
        kind = before.kind if before else "start"
        if kind == "with":
            without = before is not None and before.low == "without"
            group = self._group(item, open_ended=True)
            self.named += group
            clause.owners, clause.owned = self._with_owners(), group
            clause.denied |= without
            return
        if kind == "prep":
            self.named.append(item)
            return
        if kind == "verb" and before is not None:
            self._after_verb(item, before)
            return
        if kind == "relation":
            return  # taken by the relation
        if kind in ("and", "comma") and clause.owned and self._peek() == "relation":
            clause.owned = self._group(item, open_ended=True)
            self.named += clause.owned
            return
        # "Neither the fork nor the spoon": the sentence is denied; "not" before a name otherwise belongs to the clause.
        denied = "no" in item.marks or (before is not None and before.low in ("neither", "nor"))
        group = self._group(item, open_ended=True)
        self.named += [c for c in group if "pronoun" not in c.marks]
        if clause.fronted and clause.there is False and clause.verb is not None and not clause.subjects:
            # "Hanging over the table is a chandelier": the verb has been read before its subject.
            self._settle(group)
            return
        self._new_clause(group, denied)

    def _new_clause(self, group: Things, denied: bool) -> None:
        kept = self.clause
        fresh = Clause(denied=denied or (kept.denied and not kept.subjects), hedged=kept.hedged and not kept.subjects, unreal=kept.unreal, there=kept.there)
        fronted = kept.fronted
        resolved = self._subjects(group)
        fresh.subjects = resolved
        self.clause = fresh
        if not self.first_subjects:
            self.first_subjects = resolved
        if resolved:
            self.reader.topic = resolved
        for relation, things, is_denied in fronted:
            self._claim(resolved, relation, things, is_denied or denied)

    def _subjects(self, group: Things) -> Things:
        """The things that stand as subject, pronouns replaced by what they mean."""
        found: Things = []
        for each in group:
            if "pronoun" not in each.marks:
                found.append(each)
            elif (meant := self._continued(each)) is not None:
                found.append(meant)
        return found

    def _settle(self, group: Things) -> None:
        """Inversion: the subject has come after its relation and verb."""
        clause = self.clause
        clause.subjects = self._subjects(group)
        self.first_subjects = self.first_subjects or clause.subjects
        denied = any("no" in c.marks for c in group)
        clause.denied |= denied
        fronted, clause.fronted = clause.fronted, []
        for relation, things, is_denied in fronted:
            self._claim(clause.subjects, relation, things, is_denied or clause.denied)

    def _after_verb(self, item: Chunk, verb: Chunk) -> None:
        clause = self.clause
        lemma = verb.head.lemma if verb.head else ""
        pictured = any(is_place(c, scenes=True) or "pronoun" in c.marks for c in clause.subjects) or not clause.subjects
        if clause.fronted and not clause.subjects:
            group = self._group(item, open_ended=True)
            self.named += group
            self._settle(group)
            self.reader.asserted += clause.subjects
        elif clause.there or (lemma in words()["verbs.showing"] and (pictured or lemma in ("watch", "photograph"))) or (lemma == "be" and pictured):
            group = self._group(item, open_ended=True)
            self.named += group
            denied = clause.denied or any(c.marks & {"no"} for c in group)
            self.clause = Clause(subjects=self._subjects(group), denied=denied, hedged=clause.hedged, unreal=clause.unreal)
            self.first_subjects = self.first_subjects or self.clause.subjects
            self.reader.topic = self.clause.subjects or self.reader.topic
            if not denied:
                self.reader.asserted += self.clause.subjects
        elif lemma in words()["verbs.having"]:
            group = self._group(item, open_ended=True)
            self.named += group
            clause.owners, clause.owned = clause.subjects, group
            clause.denied |= any("no" in c.marks for c in group)
        else:
            group = self._group(item, open_ended=False)
            self.named += [c for c in group if "pronoun" not in c.marks]
            clause.objects = group

    def _with_owners(self) -> Things:
        clause = self.clause
        before = self.items[self.at - 3] if self.at >= 3 else None
        nearest = before if before is not None and before.kind == "thing" else None
        if clause.owned and nearest in clause.owned:
            return [nearest] if nearest else []
        if clause.objects and nearest in clause.objects:
            return clause.objects
        if nearest is not None and nearest in clause.last and (clause.verb is None or not clause.subjects):
            return clause.last
        return clause.subjects

    # Verbs and clauses

    def _verb(self, item: Chunk) -> None:
        clause = self.clause
        finite = "finite" in item.marks
        if finite and self.outer and clause.verb is not None:
            # A relative clause has its verb; this one is the sentence's.
            self.clause = clause = self.outer.pop()
        if finite or (clause.owned and self._person(clause.owners)):
            clause.owned = [] if not self._owned_acts(item) else clause.owned
        if finite and self._before() is not None and clause.verb is not None and clause.subjects and self._before_kind() in ("and", "comma", "but"):
            clause.denied = False
        if clause.verb is None or finite or "participle" in item.marks:
            clause.verb, clause.objects = item, []
        clause.denied |= "not" in item.marks
        clause.hedged |= "hedged" in item.marks
        clause.unreal |= "unreal" in item.marks
        clause.copular |= "be" in item.marks

    def _owned_acts(self, item: Chunk) -> bool:
        return "finite" not in item.marks and not self._person(self.clause.owners)

    def _before_kind(self) -> str:
        before = self._before()
        return before.kind if before else "start"

    @staticmethod
    def _person(things: Things) -> bool:
        return any(c.among("things.persons", "things.animals") for c in things)

    def _which(self) -> None:
        """A relative clause speaks of the thing before it."""
        before = self._before()
        if before is not None and before.kind == "comma":
            place = self.at - 3
            before = self.items[place] if place >= 0 else None
        if before is None or before.kind != "thing" or "pronoun" in before.marks:
            # "It appears that …", "I think that …": a clause of its own.
            if not any("unreal" in c.marks for c in self.items[: self.at]):
                kept = self.clause
                self.clause = Clause(hedged=kept.hedged, unreal=kept.unreal, denied=kept.denied and not self._peek() == "thing")
            return
        same = [c for c in self.clause.subjects if c is before] and self.clause.subjects
        self.outer.append(self.clause)
        self.clause = Clause(subjects=list(same or [before]), unreal=self.clause.unreal, hedged=self.clause.hedged)

    def _close(self) -> None:
        """The end of a clause that cannot go on."""
        for relation, things, _ in self.clause.fronted:
            if things:
                self.reader.doubt(relation.start, things[-1].end, "it does not say what is there")
        unreal = self.clause.unreal and False
        self.clause, self.outer = Clause(unreal=unreal), []

    # Relations

    def _relation(self, item: Chunk) -> None:
        clause, before = self.clause, self._before()
        denied = clause.denied or (before is not None and before.kind == "not")
        if item.phrase.startswith("its "):
            things = clause.owners or self._elsewhere(item)
            self._claim(self._subject_of(item, things), item, things, denied)
            return
        if self._peek() == "which" and clause.subjects + clause.last:
            self._behind_which(item)
            return
        while self._peek() == "other" and self._peek(1) == "thing":
            self.at += 1
        if self._peek() != "thing":
            self._without_object(item, denied)
            return
        first = self.items[self.at]
        self.at += 1
        group = self._group(first, open_ended=False)
        things = self._objects(group, item)
        self.named += [c for c in group if "pronoun" not in c.marks]
        if not things:
            return
        if is_idiom(item, things[0], clause.subjects, first):
            return
        if item.name == "between":
            self.reader.doubt(item.start, things[-1].end, '"between" relates three things')
            return
        if not self._allowed(item):
            return
        if not clause.subjects and not clause.owned:
            clause.fronted.append((item, things, denied))
            clause.last, clause.last_relation = things, item.name
            return
        subjects = self._subject_of(item, things)
        self._claim(subjects, item, things, denied)
        clause.last, clause.last_relation = things, item.name
        if before is not None and before.kind == "not":
            clause.denied = False

    def _allowed(self, item: Chunk) -> bool:
        """Whether running text may claim this relation; the vaguer ones only where they are all that is said."""
        if item.name in self.reader.relations or item.name in words().claimed:
            by = item.name == "by" and self.clause.verb is not None and self.clause.verb.head is not None
            passive = by and self.clause.verb is not None and self.clause.verb.head is not None and self.clause.verb.head.tag in ("VVN", "VVD") and self._before() is self.clause.verb
            return not passive and not (item.name == "by" and self._by_whom())
        shape = [c.kind for c in self.items if c.kind != "stop"]
        return shape in (["thing", "verb", "relation", "thing"], ["thing", "relation", "thing"]) and self.clause.verb is not None and "be" in self.clause.verb.marks or shape == ["thing", "relation", "thing"] and item.tokens[0].tag[0] == "V"

    def _by_whom(self) -> bool:
        thing = self.items[self.at - 1]
        return thing.among("things.persons") and not self.clause.copular and self.clause.verb is None

    def _without_object(self, item: Chunk, denied: bool) -> None:
        """ "with a lamp on top", "has milk inside": the second thing is the one that has the first."""
        clause = self.clause
        low = item.low
        if self._peek() == "other" and low in ("on",):
            return
        relation = words().adverbs.get(low)
        if relation and clause.owned and clause.owners and not is_place(clause.owners[0], scenes=True):
            made = Chunk("relation", item.tokens, relation, low)
            self._claim(clause.owned, made, clause.owners, denied)

    def _behind_which(self, item: Chunk) -> None:
        clause = self.clause
        things = clause.last or clause.subjects[-1:]
        self.at += 1
        if self._peek() == "thing":
            group = [self.items[self.at]]
            self.at += 1
            self._claim(self._subjects(group), item, things, False)

    def _subject_of(self, item: Chunk, things: Things) -> Things:
        """Whom a relation phrase is about."""
        clause, before = self.clause, self._before_relation(item)
        lemma = clause.verb.head.lemma if clause.verb and clause.verb.head else ""
        if clause.owned and self._about_owned(things, item):
            return self._not_among(clause.owned, things)
        if item.name == "contains" and before is not None and before.kind == "thing" and " " in item.phrase:
            return [before] if before not in clause.subjects else clause.subjects
        if clause.objects and not all("pronoun" in c.marks for c in clause.objects):
            body = any(c.among("things.body") or "own" in c.marks for c in things)
            if lemma in words()["verbs.placing"] or (lemma in words()["verbs.holding"] and body):
                return clause.objects
        if self._about_last(item, things, before):
            return clause.last
        return self._not_among(clause.subjects, things)

    def _before_relation(self, item: Chunk) -> Chunk | None:
        place = self.items.index(item) - 1
        while place >= 0 and self.items[place].kind == "other":
            place -= 1
        return self.items[place] if place >= 0 else None

    def _about_owned(self, things: Things, item: Chunk) -> bool:
        """ "a plate with a sandwich on it" is about the sandwich, "a man with a dog on a beach" about the man."""
        clause = self.clause
        if any(c is o for c in things for o in clause.owners) or any("own" in c.marks for c in things):
            return True
        if not clause.owners:
            return True
        if clause.verb is not None and clause.verb.head is not None and clause.verb.head.lemma == "have":
            return True
        if self._person(clause.owners):
            return any("definite" in c.marks and c.among("things.body") for c in things)
        if clause.owners[0].among("places.rooms"):
            return True
        verb_inside = clause.verb is not None and clause.verb.start > clause.owned[0].start
        return verb_inside or any("definite" in c.marks for c in things)

    def _about_last(self, item: Chunk, things: Things, before: Chunk | None) -> bool:
        """ "next to a boy on a scooter": an animal or a person, on something that is not the ground of all."""
        last = self.clause.last
        return (
            before is not None
            and before in last
            and item.name in ("on", "inside")
            and self.clause.last_relation not in ("on", "inside")
            and self._person(last[-1:])
            and not any(c.among("places.grounds", "places.rooms") for c in things)
        )

    @staticmethod
    def _not_among(subjects: Things, things: Things) -> Things:
        """ "a stove, a sink and a microwave above the stove" says it of the microwave alone."""
        nouns = {c.noun for c in things}
        return subjects[-1:] if len(subjects) > 1 and any(c.noun in nouns for c in subjects) else subjects

    # Pronouns

    def _objects(self, group: Things, item: Chunk) -> Things:
        found: Things = []
        for each in group:
            if "pronoun" not in each.marks:
                found.append(each)
            elif meant := self._meant(each, item):
                found += meant
        return found

    def _meant(self, pronoun: Chunk, item: Chunk) -> Things:
        clause = self.clause
        if pronoun.low not in ("it", "them", "him", "her"):
            if pronoun.low not in words()["modes.vague"]:
                self.reader.doubt(item.start, pronoun.end, f'"{pronoun.low}" may mean several things')
            return []
        if clause.owned and clause.owners:
            return clause.owners
        if not clause.subjects and not self.named and self.reader.topic:
            fitting = [c for c in self.reader.topic if _fits(pronoun, c)]
            return fitting if len(fitting) == 1 or pronoun.low == "them" else self._unclear(pronoun, item)
        return self._elsewhere(item, pronoun)

    def _elsewhere(self, item: Chunk, pronoun: Chunk | None = None) -> Things:
        named = self.named or self.reader.earlier
        subjects = self.clause.subjects + self.clause.owned
        fitting = {c.name.lower(): c for c in named if c not in subjects and (pronoun is None or _fits(pronoun, c))}
        if len(fitting) == 1:
            return list(fitting.values())
        return self._unclear(pronoun or item, item)

    def _unclear(self, pronoun: Chunk, item: Chunk) -> Things:
        self.reader.doubt(item.start, max(item.end, pronoun.end), f'"{pronoun.low}" may mean several things')
        return []

    def _continued(self, pronoun: Chunk) -> Chunk | None:
        """A pronoun as subject goes on about the subject before it."""
        fitting = [c for c in self.reader.topic if _fits(pronoun, c)]
        if len(fitting) == 1:
            return fitting[0]
        named = {c.name.lower(): c for c in (self.named or self.reader.earlier) if _fits(pronoun, c)}
        return next(iter(named.values())) if len(named) == 1 else None

    # Claims

    def _claim(self, subjects: Things, relation: Chunk, things: Things, denied: bool) -> None:
        start = min([relation.start, *(c.start for c in subjects if c.start >= self.sentence.start)])
        end = max([relation.end, *(c.end for c in things if self.sentence.start <= c.start)])
        if self.clause.unreal:
            self.reader.doubt(start, end, "it is supposed or wished, not said to be so")
            return
        if not subjects:
            if not self.items[0].low.startswith(("nothing", "nobody")):
                self.reader.doubt(start, end, "it does not say what is there")
            return
        for subject in subjects:
            for thing in things:
                self._one(subject, relation, thing, denied)

    def _one(self, subject: Chunk, relation: Chunk, thing: Chunk, denied: bool) -> None:
        if is_place(subject) or is_place(thing) or subject.name.lower() == thing.name.lower():
            return
        if subject.noun in words()["modes.vague"] or thing.noun in words()["modes.vague"]:
            return
        here = [c for c in (subject, relation, thing) if c.start >= self.sentence.start]
        self.reader.claims.append(
            TextClaim(
                "relation", subject.name, relation.name, thing.name, "no" if denied else "yes",
                min(c.start for c in here), max(c.end for c in here), relation.phrase, self.clause.hedged,
                (subject.plural, thing.plural),
            )
        )


def _fits(pronoun: Chunk, thing: Chunk) -> bool:
    if is_place(thing):
        return False
    person, plural = thing.among("things.persons"), thing.plural
    match pronoun.low:
        case "it":
            return not plural and not person or thing.noun == "baby"
        case "they" | "them":
            return plural
        case "he" | "him" | "she" | "her":
            return person and not plural
        case _:
            return False
