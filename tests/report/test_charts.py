"""Charts: well-formed, labelled, true to scale, and never with a label cut off or on top of another."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recap.report.charts import (
    Bounds,
    Curve,
    Line,
    Quadrant,
    Whisker,
    coverage_chart,
    gate_chart,
    line_chart,
    margin_bars,
    matrix_chart,
    quadrant_chart,
    risk_scale,
    whisker_chart,
)
from recap.report.charts.svg import apart, standalone, style_sheet, text_width, ticks, wrapped

NAN = math.nan
NASTY = '<b>"x"&'
MODELS = ("Qwen3-VL-8B", "InternVL3.5-8B", "LLaVA-1.5-7B", "LLaVA-OneVision-7B")
NAMES = [f"{model} on {data}" for model in MODELS for data in ("VSR", "What'sUp")]
GRID = np.linspace(0.05, 1, 20)


def curve(name: str, style: str, slope: float, start: float = 0.0) -> Curve:
    mean = start + slope * GRID
    return Curve(name, style, GRID, mean, mean * 0.9, mean * 1.1)


CURVES = [curve(f"{style}-curve", style, 0.1 * k) for k, style in enumerate(("conf", "recap", "img", "sel", "vcd"), 1)]
ALL_CHARTS = {
    "whiskers": whisker_chart(
        [Whisker(n, 3.0 * i - 4, 3.0 * i - 6, 3.0 * i, s) for (i, n), s in zip(enumerate(NAMES), itertools.cycle(("recap", "conf", "")), strict=False)],
        "gain in points, to the right RECAP is better, and this goes on for more than a line",
        mark=0,
    ),
    "extreme whiskers": whisker_chart(
        [Whisker("x" * 90, 1e6, -1e6, 2e6), Whisker(NASTY, NAN, NAN, NAN), Whisker("same", 0, 0, 0, "conf")], "x", mark=0
    ),
    "no whiskers": whisker_chart([], "held-out coverage", mark=0.8),
    "lines": line_chart(
        ["confidence", "claim only", "symmetric pair", "answer-conditioned", "with support"],
        [Line(n, [50 + i, 90 - i, NAN, 70, 60 + 0.1 * i]) for i, n in enumerate(NAMES)],
        "Hall-AUC, %",
        low=50,
        high=100,
    ),
    "flat lines": line_chart(["1 %", "2 %"], [Line(n, [0, 0]) for n in NAMES], "splits, %", low=0, high=100),
    "lines without values": line_chart(["a", "b"], [Line(NASTY, [NAN, NAN])], "y", low=0, high=1),
    "many long steps": line_chart([f"unusually-long-step {k}" for k in range(8)], [Line("one", range(8))], "y", low=0, high=8),
    "matrix": matrix_chart(
        MODELS, MODELS, np.arange(16.0).reshape(4, 4) * 6, row_label="auditor", column_label="answers of", low=0, high=90
    ),
    "wide matrix": matrix_chart(
        NAMES, NAMES, np.full((8, 8), 100.0), row_label="evidence from", column_label="answers of", low=0, high=100,
        outlined=[(k, k) for k in range(8)],
    ),
    "gate": gate_chart([(n, [Bounds(0.1 * i, 0.9 - 0.1 * i, i < 4)] * 20) for i, n in enumerate(NAMES)]),
    "gate at the edges": gate_chart([(NASTY, [Bounds(1, 0, False), Bounds(NAN, 0.5, False)])]),
    "quadrants": quadrant_chart(
        [(n, [Quadrant("claim alone", 0.97, 1), Quadrant("contradiction alone", 0.01, 0.03), Quadrant("both", 0.01, NAN), Quadrant("neither", 0.01, 0.6)]) for n in NAMES]
    ),
    "empty quadrants": quadrant_chart([(NASTY, [Quadrant("both", 0, NAN), Quadrant("neither", NAN, NAN)])]),
    "coverage": coverage_chart(CURVES, "wrong among accepted", at=0.8),
    "no coverage": coverage_chart([], "wrong among accepted"),
    "bars": margin_bars([("contradiction", "Is the potted plant to the left of the white refrigerator?", -9.99), (NASTY, "no?", 0)]),
    "scale": risk_scale(0.3, 0.8, True),
}  # fmt: skip


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def classed(svg: str, *styles: str, tag: str = "*") -> list[ET.Element]:
    return [e for e in parsed(svg).iter() if set(styles) <= set(e.get("class", "").split()) and tag in ("*", e.tag)]


def numbers(element: ET.Element, name: str) -> list[float]:
    return [float(v) for v in re.findall(r"-?\d+\.?\d*", element.get(name, ""))]


@dataclass(frozen=True)
class Label:
    text: str
    left: float
    right: float
    bottom: float


def labels(svg: str) -> list[Label]:
    """All labels that lie flat, where they are in the widest font."""
    found: list[Label] = []

    def walk(element: ET.Element, dx: float, dy: float) -> None:
        moved = element.get("transform", "")
        if "rotate" in moved:
            return
        if moved:
            x, y = numbers(element, "transform")
            dx, dy = dx + x, dy + y
        if element.tag == "text":
            text = "".join(element.itertext())
            x, y, width = float(element.get("x", 0)) + dx, float(element.get("y", 0)) + dy, text_width(text)
            left = x - {"start": 0.0, "middle": width / 2, "end": width}[element.get("text-anchor", "start")]
            found.append(Label(text, left, left + width, y))
        for child in element:
            walk(child, dx, dy)

    walk(parsed(svg), 0, 0)
    return found


@pytest.mark.parametrize("name", ALL_CHARTS)
def test_a_chart_is_well_formed_and_says_what_it_shows(name: str) -> None:
    root = parsed(ALL_CHARTS[name])
    assert root.get("role") == "img"
    assert len(root.get("aria-label", "")) > 10
    assert not any(element.tag in ("script", "foreignObject") for element in root.iter())


@pytest.mark.parametrize("name", ALL_CHARTS)
def test_no_label_is_cut_off(name: str) -> None:
    _, _, width, height = numbers(parsed(ALL_CHARTS[name]), "viewBox")
    for label in labels(ALL_CHARTS[name]):
        assert label.left >= -0.5, label
        assert label.right <= width + 0.5, label
        assert 10 <= label.bottom <= height, label


@pytest.mark.parametrize("name", ALL_CHARTS)
def test_no_label_lies_on_another(name: str) -> None:
    for one, other in itertools.combinations(labels(ALL_CHARTS[name]), 2):
        beside = one.right <= other.left + 0.5 or other.right <= one.left + 0.5
        assert beside or abs(one.bottom - other.bottom) >= 12, (one, other)


@pytest.mark.parametrize("name", ALL_CHARTS)
def test_every_style_is_in_the_style_sheet(name: str) -> None:
    known = set(re.findall(r"\.([a-z]\w*)", style_sheet("chart.css"))) | {"chart", "bars", "scale"}
    used = {style for element in parsed(ALL_CHARTS[name]).iter() for style in element.get("class", "").split()}
    assert used <= known


@pytest.mark.parametrize("name", ALL_CHARTS)
def test_a_chart_alone_brings_its_own_colours(name: str) -> None:
    svg = standalone(ALL_CHARTS[name])
    root = ET.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in svg
    assert "prefers-color-scheme: dark" in svg
    x, _, width, _ = (float(v) for v in root.get("viewBox", "").split())
    assert x < 0 < width == float(root.get("width", 0))


def test_names_are_escaped() -> None:
    for svg in (
        whisker_chart([Whisker(NASTY, 1, 0, 2)], NASTY, mark=0),
        line_chart([NASTY], [Line(NASTY, [1])], NASTY, low=0, high=2),
        matrix_chart([NASTY], [NASTY], np.ones((1, 1)), row_label=NASTY, column_label=NASTY, low=0, high=1),
        gate_chart([(NASTY, [Bounds(0.1, 0.9, True)])]),
        quadrant_chart([(NASTY, [Quadrant(NASTY, 1, 0.5)])]),
        coverage_chart([curve(NASTY, "conf", 0.1)], NASTY),
    ):
        assert "<b>" not in svg
        assert NASTY in "".join(parsed(svg).itertext())
        assert NASTY in parsed(svg).get("aria-label", "")


def test_whiskers_stand_where_their_values_are() -> None:
    values = [-3.0, 0.0, 1.5, 8.0]
    svg = whisker_chart([Whisker(str(v), v, v - 1, v + 2, "recap") for v in values], "gain", mark=0)
    dots = [float(dot.get("cx", 0)) for dot in classed(svg, "dot", "recap", tag="circle")]
    assert dots == sorted(dots)
    step = (dots[-1] - dots[0]) / (values[-1] - values[0])
    assert np.diff(dots) == pytest.approx(np.diff(values) * step, abs=0.2)
    spans = [line for line in classed(svg, "whisker", tag="line") if line.get("x1") != line.get("x2")]
    for line, dot in zip(spans, dots, strict=True):
        assert float(line.get("x1", 0)) == pytest.approx(dot - step, abs=0.2)
        assert float(line.get("x2", 0)) == pytest.approx(dot + 2 * step, abs=0.2)
    zeros = {line.get("x1") for line in classed(svg, "zero")}
    assert len(zeros) == 1
    assert float(zeros.pop() or 0) == pytest.approx(dots[1], abs=0.2)
    assert "+8.0 [+7.0, +10.0]" in "".join(parsed(svg).itertext())


def test_figures_get_the_decimals_that_their_range_needs() -> None:
    svg = whisker_chart([Whisker("a", 0.801, 0.79, 0.82)], "coverage", mark=0.8)
    assert "0.801 [0.790, 0.820]" in "".join(parsed(svg).itertext())


def test_confidence_and_recap_differ_in_shape() -> None:
    svg = whisker_chart(
        [Whisker("a", 1, 0, 2, "recap"), Whisker("b", 1, 0, 2, "conf"), Whisker("c", 1, 0, 2)], "x", mark=0
    )
    shapes = [re.sub(r"M[\d.,]+", "", dot.get("d", dot.tag)) for dot in classed(svg, "dot")]
    assert len(set(shapes)) == 3


def test_lines_rise_with_their_values_and_break_at_gaps() -> None:
    svg = line_chart(["a", "b", "c", "d"], [Line("up", [1, 2, NAN, 4]), Line("none", [NAN] * 4)], "y", low=0, high=4)
    runs = classed(svg, "line", "s0", tag="polyline")
    assert len(runs) == 2
    places = [numbers(run, "points") for run in runs]
    ys = [*places[0][1::2], *places[1][1::2]]
    assert ys == sorted(ys, reverse=True)
    assert ys[0] - ys[1] == pytest.approx((ys[1] - ys[2]) / 2, abs=0.2)
    assert not classed(svg, "line", "s1")
    assert "none: no value" in "".join(parsed(svg).itertext())


def test_values_beyond_the_range_widen_it() -> None:
    svg = line_chart(["a"], [Line("far", [150.0])], "y", low=0, high=100)
    _, _, _, height = numbers(parsed(svg), "viewBox")
    (place,) = (numbers(run, "points") for run in classed(svg, "line", "s0"))
    assert 0 < place[1] < height


def test_eight_lines_have_eight_markers_and_dashes() -> None:
    svg = line_chart(["a", "b"], [Line(n, [i, i + 1]) for i, n in enumerate(NAMES)], "y", low=0, high=9)
    shapes = {
        k: {re.sub(r"M[\d.,]+", "", dot.get("d", dot.tag)) for dot in classed(svg, "dot", f"s{k}")} for k in range(8)
    }
    assert all(len(each) == 1 for each in shapes.values())
    assert len(set.union(*shapes.values())) == 8
    dashes = [
        re.search(rf"\.line\.s{k}(?:, [^{{]*)? {{ stroke-dasharray: ([\d ]+)", style_sheet("chart.css"))
        for k in range(8)
    ]
    assert len({found[1] if found else "solid" for found in dashes}) == 8


def test_a_matrix_shades_by_value_leaves_gaps_and_frames_what_it_should() -> None:
    values = np.array([[10.0, NAN], [55.0, 100.0]])
    svg = matrix_chart(
        ["a", "b"], ["c", "d"], values, row_label="r", column_label="c", low=10, high=100, outlined=[(0, 0), (1, 1)]
    )
    shades = [float(cell.get("fill-opacity", 0)) for cell in classed(svg, "shade")]
    assert shades == sorted(shades)
    assert shades[1] == pytest.approx((shades[0] + shades[2]) / 2, abs=0.01)
    assert len(classed(svg, "empty")) == 1
    assert len(classed(svg, "frame")) == 2
    assert [each.text for each in classed(svg, "value")] == ["10.0", "55.0", "100.0"]


def test_points_of_the_gate_lie_in_the_corner_where_both_bounds_hold() -> None:
    bounds = [Bounds(0.1, 0.9, True), Bounds(0.6, 0.9, False), Bounds(0.1, 0.4, False)]
    svg = gate_chart([("model", bounds)])
    corner = classed(svg, "corner")[0]
    x, y, width, height = (float(corner.get(k, 0)) for k in ("x", "y", "width", "height"))
    dots = classed(svg, "dot", tag="circle")[:3]
    for dot, each in zip(dots, bounds, strict=True):
        inside = x <= float(dot.get("cx", 0)) <= x + width and y <= float(dot.get("cy", 0)) <= y + height
        assert inside == each.eligible
        assert ("hollow" in dot.get("class", "")) != each.eligible
    assert "model: 1 of 3 splits" in "".join(parsed(svg).itertext())


def test_quadrants_are_as_wide_as_their_shares() -> None:
    parts = [Quadrant("claim alone", 0.5, 0.18), Quadrant("contradiction alone", 0.3, 0.03), Quadrant("both", 0.2, 0.6)]
    svg = quadrant_chart([("model", parts)])
    widths = [float(each.get("width", 0)) for each in classed(svg, "part") if each.find("title") is not None]
    assert np.array(widths) / sum(widths) == pytest.approx([0.5, 0.3, 0.2], abs=0.001)
    assert [each.text for each in classed(svg, "strong")] == ["18%", "3%", "60%"]
    assert [each.text for each in classed(svg, "name", tag="tspan")] == ["1", "2", "3"]


def test_the_legend_of_coverage_stands_clear_of_its_curves() -> None:
    svg = ALL_CHARTS["coverage"]
    highest = min(min(numbers(line, "points")[1::2]) for line in classed(svg, "line", tag="polyline"))
    named = [label for label in labels(svg) if label.text.endswith("-curve")]
    assert len(named) == 5
    assert all(label.bottom < highest for label in named)


def test_curves_break_where_there_is_nothing_to_measure() -> None:
    mean = np.where(GRID < 0.3, NAN, GRID)
    svg = coverage_chart([Curve("a", "recap", GRID, mean, mean, mean)], "H-FPR", at=0.8)
    (line,) = classed(svg, "line", "recap", tag="polyline")
    assert len(numbers(line, "points")) == 2 * np.isfinite(mean).sum()


def test_accuracy_is_not_pressed_against_the_upper_edge() -> None:
    mean = 0.95 - 0.05 * GRID
    svg = coverage_chart([Curve("a", "recap", GRID, mean, mean - 0.01, mean + 0.01)], "accuracy")
    (line,) = classed(svg, "line", "recap", tag="polyline")
    ys = numbers(line, "points")[1::2]
    assert max(ys) - min(ys) > 60


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(1, 30)), max_size=8))
def test_labels_kept_apart_do_not_overlap_and_keep_their_order(wanted: list[tuple[float, float]]) -> None:
    centres, sizes = [w for w, _ in wanted], [s for _, s in wanted]
    found = apart(centres, sizes, 0, 300)
    order = sorted(range(len(wanted)), key=lambda i: centres[i])
    for i, j in itertools.pairwise(order):
        assert found[j] - found[i] >= (sizes[i] + sizes[j]) / 2 - 1e-6
    for place, size in zip(found, sizes, strict=True):
        assert place - size / 2 >= -1e-6
        assert place + size / 2 <= 300 + 1e-6


@given(
    st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\u00a0"), max_size=60),
    st.floats(20, 300),
)
def test_wrapped_text_fits_and_loses_nothing(text: str, width: float) -> None:
    lines = wrapped(text, width)
    assert all(text_width(line) <= width or len(line) < 2 for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(3, 8))
def test_ticks_are_few_and_inside(low: float, span: float, most: int) -> None:
    found = ticks(low, low + span, most)
    assert 1 <= len(found) <= most
    slack = 1e-5 * (span + abs(low))
    assert low - slack <= found[0] <= found[-1] <= low + span + slack
