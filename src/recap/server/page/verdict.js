// The card of one verdict: the answer, the reason, the probes as bars around zero, and where the risk stands.

import { acceptedAt, acceptedFrom, comparable, deployed, limitAt } from "./coverage.js";
import { drawScale } from "./scale.js";
import { listed, outcome, percent, plain, sentence, signed, word } from "./words.js";

const at = (id) => document.getElementById(id);
const ROLES = { direct: "question", claim: "claim", contradiction: "contradiction", support: "support" };
const VIEWS = { text: "without the picture", degraded: "on a degraded picture", flipped: "on the flipped picture" };
const MARKS = { accepted: "✓", rejected: "✕", open: "○" };

/** What cannot be told is neither accepted nor rejected. */
const state = (verdict) => (verdict.accepted === null || verdict.verdict === "cannot-be-told" ? "open" : verdict.accepted ? "accepted" : "rejected");

/** The verdict in a sentence, for those who hear the page. */
export function spoken(verdict) {
  return `${verdict.question} Answer: ${verdict.answer}, ${outcome(verdict)}. ${sentence(verdict.reason)}`;
}

/** Leave the card empty. */
export function clearVerdict() {
  at("empty").hidden = false;
  at("card").hidden = true;
}

/** Fill the card. `entry.policy` is the policy that the verdict was made under, if that is known. */
export function drawVerdict(entry) {
  const { verdict, shared } = entry;
  at("empty").hidden = true;
  at("card").hidden = false;
  at("card").dataset.verdict = state(verdict);
  at("asked").textContent = verdict.question;
  at("who").textContent = verdict.row?.answer ? "the answer given is" : `${verdict.model ?? "the model"} says`;
  at("answer").textContent = verdict.answer;
  at("chip").textContent = `${MARKS[state(verdict)]} ${outcome(verdict)}`;
  at("chip").className = `chip ${state(verdict)}`;
  at("reason").textContent = sentence(verdict.reason);
  const noted = Array.isArray(verdict.notes) ? verdict.notes.filter((note) => typeof note === "string").map((note) => (shared ? sentence(note) : brief(note, verdict.model))) : [];
  const offered = verdict.correction ? [`The opposite answer is offered instead: “${verdict.correction}”.`] : [];
  const aside = [...offered, ...(verdict.promise && (verdict.accepted || verdict.correction) ? [`Promised: ${verdict.promise}.`] : []), ...(shared ? ["Opened from JSON: the picture is not in it."] : []), ...noted];
  at("aside").textContent = aside.join(" ");
  at("aside").hidden = !aside.length;
  at("probes-heading").textContent = `What ${verdict.model ?? "the model"} was asked`;
  drawProbes(verdict);
}

/** A note as a sentence. What a model knows stands under the question, and is too long to be said again. */
const brief = (note, model) => (note.startsWith(`${model} knows `) ? "What it knows is listed under the question." : sentence(note));

/** One row for each thing asked; a probe that serves in two roles is asked once, and shown once. */
function drawProbes({ probes, answer, witness, no_verdict: outside }) {
  const rows = new Map();
  for (const probe of probes) {
    const key = `${probe.view} ${probe.question}`;
    const roles = rows.get(key)?.roles ?? [];
    const decided = rows.get(key)?.decided || decides(probe, witness);
    rows.set(key, { ...probe, roles: [...roles, probe.role], decided });
  }
  const widest = Math.max(1, ...probes.map((probe) => Math.abs(probe.margin)));
  at("probes").replaceChildren(...[...rows.values()].map((row) => probeRow(row, outside ? null : answer, widest)));
  const kinds = new Set(probes.map((probe) => probe.role));
  const key = [
    kinds.has("contradiction") && "A contradiction cannot be true together with the claim.",
    kinds.has("support") && "A support should be true whenever the claim is.",
    !kinds.has("claim") && "This relation is outside the relation graph, so there is nothing to hold against the answer but its own confidence.",
  ];
  at("probes-key").textContent = ["Bars are log p(yes) − log p(no).", ...key.filter(Boolean)].join(" ");
}

/** What the witness is called where it decided; confidence is the direct question's margin. */
function decides({ role, relation }, witness) {
  if (!witness) return "";
  const mine = witness.kind === "confidence" ? role === "direct" : role === witness.kind && relation === witness.relation;
  return mine ? `decided, as ${witness.kind}` : "";
}

function probeRow({ roles, question, view, margin, decided }, answer, widest) {
  const leans = margin >= 0 ? "yes" : "no";
  const item = document.createElement("li");
  const what = part("p", "what");
  const named = listed(roles.map((role) => ROLES[role] ?? role.replaceAll("_", " ")));
  what.append(part("span", "role", named), part("span", "asked", question));
  if (VIEWS[view]) what.append(part("span", "role", VIEWS[view]));
  const bar = part("div", `bar ${leans}`);
  bar.style.setProperty("--share", Math.abs(margin) / widest);
  const fill = part("span", "fill");
  fill.setAttribute("aria-hidden", "true");
  const said = effect(roles, margin, answer);
  bar.append(fill, part("span", "value", signed(margin)), part("span", "unseen", ` leans to ${leans}`));
  item.append(what, bar);
  if (said) {
    what.append(part("span", said.startsWith("speaks") ? "effect against" : "effect", said));
  }
  if (decided) what.append(part("span", "decided", decided));
  return item;
}

/** What a margin means for the answer. That a contradiction is denied says nothing against a "no": both may be false. */
function effect(roles, margin, answer) {
  const forClaim = roles.includes("contradiction") ? -margin : margin;
  const witness = roles.some((role) => role in { claim: 1, contradiction: 1, support: 1 });
  if (!witness || answer === null) return ""; // without a verdict nothing is weighed
  if (answer === "yes") return forClaim < 0 ? "speaks against this yes" : "";
  if (forClaim < 0) return "backs this no";
  return roles.includes("claim") ? "speaks against this no" : "";
}

function part(name, style, content = "") {
  const made = document.createElement(name);
  made.className = style;
  made.textContent = content;
  return made;
}

/** Where the risk stands, and what a coverage of so many percent would make of it and of the rest of the visit. */
export function drawRisk(entry, { percent: place, others, turned, visit }) {
  const { verdict, policy } = entry;
  const scaled = comparable(verdict, policy);
  at("risk").hidden = verdict.accepted === null;
  at("scale-box").hidden = !scaled;
  at("standing").textContent = standing(verdict);
  if (!scaled) return;
  const own = deployed(policy);
  const limit = limitAt(policy, place);
  const accepted = acceptedAt(verdict, policy, place);
  at("coverage").value = place;
  at("coverage-shown").textContent = place === own ? percent(policy.coverage) : `${place}\u00a0%`;
  at("coverage").setAttribute("aria-valuetext", `${place} percent; this answer ${place === own ? "is" : "would be"} ${word(accepted)}`);
  at("reset").hidden = place === own;
  at("reset").textContent = `Back to ${percent(policy.coverage)}`;
  at("coverage").style.setProperty("--at", `calc(10px + (100% - 20px) * ${(place - 1) / 99})`);
  drawScale(at("scale"), { policy, risk: verdict.risk, place, limit, others });
  const told = verdict.risk === null ? "no risk" : `risk ${plain(verdict.risk)}`;
  at("scale").setAttribute("aria-label", `Calibration risks from ${plain(policy.quantiles[0])} to ${plain(policy.quantiles[99])}; this answer: ${told}; limit ${plain(limit)}.`);
  at("scale-key").textContent = `Each bar is a hundredth of the answers that RECAP was calibrated on, from the surest to the riskiest; its height is their risk. The limit is ${plain(limit)}.${others.length ? " Rings are other answers of this visit." : ""}`;
  at("would").textContent = would(verdict, policy, place, accepted, turned, visit);
  at("would").className = accepted === verdict.accepted ? "" : "flips";
}

function standing(verdict) {
  const { risk, threshold } = verdict.standing ?? {};
  if (verdict.risk === null) return "There is no risk to compare, so it cannot be accepted.";
  if (risk === null || risk === undefined || threshold === null) {
    return `Risk ${plain(verdict.risk)}, limit ${plain(verdict.threshold)}: ${word(verdict.accepted)}.`;
  }
  return `${percent(risk)} of the answers that set the limit are no riskier; it accepts the surest ${percent(threshold)}.`;
}

function would(verdict, policy, place, accepted, turned, visit) {
  const from = verdict.risk === null ? null : acceptedFrom(verdict.risk, policy);
  const some = from === 100 ? "Only a coverage of 100\u00a0% accepts" : `A coverage of ${from}\u00a0% or more accepts`;
  const turn = `${from === null ? "No coverage accepts" : some} this answer.`;
  if (place === deployed(policy)) return `This is the coverage in force. ${turn}`;
  const mine = accepted === verdict.accepted ? `still be ${word(accepted)}` : `be ${word(accepted)} instead`;
  const rest = visit > 1 ? ` Of this visit’s ${visit} answers, ${turned || "none"} would change.` : "";
  return `At ${place}\u00a0% this answer would ${mine}.${rest} ${turn}`;
}
