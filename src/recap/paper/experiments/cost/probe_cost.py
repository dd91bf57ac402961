"""What a risk costs: likelihood calls per statement (Table supp-probe-cost), and what our own plans ask."""

from __future__ import annotations

from collections.abc import Iterable

from recap.claims import Claim, Statement
from recap.paper.experiment import Reads, Result, Setting, Sheet, Study, Whole, experiment
from recap.probes import merge_by_image, plan_probes, planned_calls, printed_calls, ways
from recap.probes.cost import CALLS_PER_PROBE
from recap.table import MarginTable

PLANS = ("img", "cal", "diagnostic", "all")


def _once(study: Study) -> Iterable[tuple[str, str]]:
    """Each primary benchmark once, with whichever model was probed on it first; with all where none was."""
    first = {s.data: s.model for s in reversed(study.main())}
    return [(m, data) for data in study.primary for m in study.headline if first.get(data, m) == m]


@experiment("Probe cost", "supp-probe-cost", reads=Reads(("primary",), _once), risks=())
def measure(study: Study, settings: list[Setting]) -> Result:
    """How many likelihood calls does each risk need per statement?"""
    printed = Sheet(
        "supp-probe-cost",
        "Likelihood calls per statement",
        "Mean over the statements inside the graph, in the paper's counting: a probe is two calls, one for yes and one "
        "for no; RECAP's direct question counts only where it is another sentence than the claim's, supports count "
        "only in full.",
    )
    planned = Sheet(
        "own:probe-cost",
        "Likelihood calls per statement, as our plans ask them",
        "Mean over the statements inside the graph, supports and distinct direct questions included. calls: each "
        "statement by itself; shared_calls: statements about one picture together, no question asked twice.",
    )
    findings: list[str] = []
    for s in settings:
        benchmark = Whole(s.coverage, s.data)
        claims = claims_of(s.table)
        costs = paper_calls(claims, s.table)
        alone = planned_calls(claims, s.table.graph)
        # Also counted with pictures shared.
        shared = {name: shared_calls(claims, s.table, name) for name in PLANS[:3]}
        for method, calls in costs.items():
            printed.put(benchmark, method, {"calls": calls})
        for name in PLANS:
            together = {"shared_calls": shared[name]} if name in shared else {}
            planned.put(benchmark, name, {"calls": alone[name]} | together)
        findings.append(
            f"{study.title(s.data)}: RECAP-Img costs {costs['recap-img']:.1f} likelihood calls per statement in the "
            f"paper's counting, {costs['recap-img'] / costs['confidence']:.1f} times confidence. Our plan, with its "
            f"supports, asks {alone['img']:.1f}, and {shared['img']:.1f} where statements share a picture."
        )
    return Result((printed.table, planned.table), tuple(findings))


def claims_of(table: MarginTable) -> list[Claim]:
    """The claims that the rows audit, made again from their statements."""
    graph = table.graph
    return [
        graph.claim(Statement(row.subject, row.relation, row.object, family, row.relation, False))
        for row, family in zip(table.rows, table.families, strict=True)
    ]


def paper_calls(claims: list[Claim], table: MarginTable) -> dict[str, float]:
    """Mean calls of every risk in the cost table, in the paper's counting."""
    costs = printed_calls(claims, table.graph)
    contradictions = sum(len(claim.contradictions) for claim in claims) / len(claims)
    return {
        "confidence": costs["confidence"],
        "prompt-sc": float(CALLS_PER_PROBE * (1 + len(ways("paraphrases")))),
        # The direct answer, and every contradiction with and without the image.
        "anti-delta": CALLS_PER_PROBE * (1 + 2 * contradictions),
        **{name: costs[name] for name in ("recap-img", "recap-cal", "full")},
        # The veto reads the direct margin, which is there already.
        "recap-selector": costs["recap-img"],
    }


def shared_calls(claims: list[Claim], table: MarginTable, probes: str) -> float:
    """Calls per statement where all statements about one picture are asked together."""
    return CALLS_PER_PROBE * distinct_probes(claims, table, probes) / len(claims)


def distinct_probes(claims: list[Claim], table: MarginTable, probes: str) -> int:
    """How many different questions about different views of different pictures a probe set comes to."""
    plans = [plan_probes(claim, probes, graph=table.graph) for claim in claims]
    pictures = [row.image or row.unit for row in table.rows]
    return sum(map(len, merge_by_image(plans, pictures).values()))
