"""What a verb or a "which" does to the clause in hand: who is spoken of, and whether it is denied or only supposed."""

from __future__ import annotations

from dataclasses import replace

from recap.claims.text.chunks import Chunk
from recap.claims.text.clause import Clause, living
from recap.claims.text.relations import RelationReading
from recap.claims.text.words import words


class VerbReading(RelationReading):
    """The part of a sentence's reading that begins at a verb or a relative pronoun."""

    def _verb(self, item: Chunk) -> None:
        before = self.cursor.before(item)
        if "finite" in item.marks or (before is not None and before.kind in ("comma", "and")):
            self._leave_aside()
        clause = self.clause
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
        if finite and item.tokens[0].tag in ("VBB", "VHB", "VVB"):
            # "The sheep are …": its verb says that there are several.
            clause.subjects = [replace(c, plural=True) if c.tag == "NN0" else c for c in clause.subjects]
        clause.denied |= "not" in item.marks
        clause.hedged |= "hedged" in item.marks
        clause.unreal |= "unreal" in item.marks

    def _leave_aside(self) -> None:
        """Go on with the clause around: "looks at a phone, sitting on a bench", "… while sitting on a bench"."""
        while self.clause.aside and self.outer:
            self.clause = self.outer.pop()

    def _which(self, item: Chunk) -> None:
        """A relative clause speaks of the thing before it."""
        before, kept = self.cursor.before(item, "comma"), self.clause
        if before is not None and before.low == "of":
            self.outer.append(kept)  # "two men, one of whom is …"
            self.clause = kept.inner([Chunk("thing", item.tokens, item.low, head=item.tokens[0])])
            return
        told = item.low == "that" and self.cursor.peek() == "thing"  # "the case that is on the table" tells nothing
        known = before is not None and told and before.noun in ("case", "fact")
        if before is None or before.kind != "thing" or "pronoun" in before.marks or known:
            # "It appears that …", "I think that …", "It is not the case that …": a clause of its own.
            self.clause = self._complement(kept)
            return
        if told and before.noun in words()["modes.claims"]:
            self.clause = Clause(unreal=True)
            return
        self.outer.append(kept)
        self.clause = kept.inner(list(kept.subjects) if before in kept.subjects else [before])

    def _complement(self, kept: Clause) -> Clause:
        """What follows "it is true that", "I don't think that", "it is not clear that"."""
        said = [t for c in self.cursor.items[: self.cursor.at] for t in c.tokens]
        told = {t.lemma for t in said} | {t.low for t in said}
        denied = kept.denied and (self.cursor.peek() != "thing" or bool(told & words()["modes.asserting"]))
        # "no doubt that" and "no question that" say that it is so
        doubted = bool(told & {"doubt", "doubtful", "deny"}) or (kept.denied and "question" in told)
        unreal = kept.unreal or (kept.denied != doubted and not denied)
        denied ^= bool(told & words()["modes.denying"])
        return Clause(hedged=kept.hedged, unreal=unreal, denied=denied)
