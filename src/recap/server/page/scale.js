// The calibration risks as a hundred bars from the surest to the riskiest, with this answer and the limit among them.
// Places are percents of coverage, so that the slider below the bars is their axis.

import { acceptedFrom } from "./coverage.js";
import { plain } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const EDGE = 10;
/** half the slider's thumb: where its middle is at either end */
const TOP = 26;
const TALLEST = 64;
const SHORTEST = 5;
const RINGS = 13;

function part(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Draw it afresh. `others` are the risks of this visit's other answers; they stand below the bars as rings. */
export function drawScale(svg, { policy, risk, place, limit, others }) {
  const { quantiles } = policy;
  const width = Math.max(240, svg.parentElement.clientWidth);
  const step = (width - 2 * EDGE) / 99;
  const floor = TOP + TALLEST;
  const height = floor + (others.length ? 2 * RINGS : 8);
  const across = (percent) => EDGE + (percent - 1) * step;
  const whereOf = (value) => across(acceptedFrom(value, policy) ?? 100);
  const [low, high] = [quantiles[0], quantiles[99]];
  const tall = (value) => SHORTEST + (TALLEST - SHORTEST) * (high > low ? (value - low) / (high - low) : 1);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  const thick = Math.max(1.6, step * 0.68);
  const drawn = quantiles.map((value, i) => {
    const side = i + 1 <= place ? "yes" : "no";
    const [x, y] = [across(i + 1) - thick / 2, floor - tall(value)];
    return part("rect", { class: `share ${side}`, x, y, width: thick, height: tall(value), rx: thick / 2 });
  });
  const cut = across(place) + step / 2;
  drawn.push(part("line", { class: "limit", x1: cut, x2: cut, y1: TOP - 4, y2: height }));
  for (const other of others) {
    const side = other <= limit ? "yes" : "no";
    drawn.push(part("circle", { class: `ring ${side}`, cx: whereOf(other), cy: floor + RINGS, r: 4.5 }));
  }
  if (risk !== null) {
    const [here, side] = [whereOf(risk), risk <= limit ? "yes" : "no"];
    drawn.push(part("line", { class: "here", x1: here, x2: here, y1: TOP - 4, y2: floor }));
    drawn.push(part("path", { class: side, d: `M${here - 6} ${TOP - 11}h12l-6 9z` }));
    drawn.push(label(`this answer: risk ${plain(risk)}`, here, TOP - 14, width));
  }
  svg.replaceChildren(...drawn);
}

/** Text over a place, kept inside the picture. */
function label(text, x, y, width) {
  const room = text.length * 3.7;
  const anchor = x < room ? "start" : x > width - room ? "end" : "middle";
  const place = anchor === "start" ? 0 : anchor === "end" ? width : x;
  return part("text", { x: place, y, "text-anchor": anchor }, text);
}
