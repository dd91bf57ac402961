// A verdict as a document: what is downloaded and shared, and what is read again. Nothing that is read is trusted.

const KIND = "recap-verdict";
const MOST = { characters: 1 << 20, probes: 64, notes: 8, text: 2000 };

/** The verdict as the API told it, with as much of the policy as it takes to show it again elsewhere. */
export function written(verdict, policy) {
  const { mode, coverage, threshold, quantiles, model } = policy ?? {};
  const kept = policy ? { mode, coverage, threshold, quantiles, model } : null;
  return JSON.stringify({ kind: KIND, version: 1, ...verdict, policy: kept }, null, 2);
}

/** A file name made of the question, with nothing in it that a file system minds. */
export function fileName(verdict) {
  const words = verdict.question.toLowerCase().match(/[a-z0-9]+/g) ?? ["verdict"];
  return `recap-${words.join("-").slice(0, 60)}.json`;
}

export const looksLikeOne = (text) => text.length <= MOST.characters && /^\s*\{/.test(text) && text.includes('"probes"');

/** A verdict and its policy from text; an Error with a sentence if there is none in it. */
export function read(text) {
  if (text.length > MOST.characters) throw new Error("This is far too long for a verdict.");
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error("This is not JSON, or only a part of it.");
  }
  if (found === null || typeof found !== "object" || Array.isArray(found)) throw new Error("This is not the JSON of a verdict.");
  if (found.kind !== undefined && found.kind !== KIND) throw new Error("This JSON is of another kind than a verdict.");
  const verdict = {
    question: wording(found.question, "question"),
    answer: one(found.answer, ["yes", "no"], "answer"),
    verdict: found.verdict == null ? null : wording(found.verdict, "verdict"),
    correction: one(found.correction ?? null, ["yes", "no", null], "correction"),
    promise: found.promise == null ? null : wording(found.promise, "promise"),
    accepted: one(found.accepted ?? null, [true, false, null], "accepted"),
    risk: number(found.risk ?? null, "risk", true),
    threshold: number(found.threshold ?? null, "threshold", true),
    mode: found.mode == null ? null : wording(found.mode, "mode"),
    witness: witness(found.witness),
    no_verdict: found.no_verdict == null ? null : wording(found.no_verdict, "no_verdict"),
    notes: Array.isArray(found.notes) ? found.notes.slice(0, MOST.notes).map((note, i) => wording(note, `notes[${i}]`)) : [],
    reason: wording(found.reason, "reason"),
    standing: {
      risk: number(found.standing?.risk ?? null, "standing.risk", true),
      threshold: number(found.standing?.threshold ?? null, "standing.threshold", true),
    },
    probes: probes(found.probes),
    model: found.model == null ? null : wording(found.model, "model"),
    row: found.row !== null && typeof found.row === "object" ? found.row : {},
  };
  return { verdict, policy: policy(found.policy) };
}

/** What decided; null where nothing did, and in documents that are older than this. */
function witness(given) {
  if (given == null) return null;
  const relation = given.relation == null ? null : wording(given.relation, "witness.relation");
  return { kind: wording(given.kind, "witness.kind"), relation, margin: number(given.margin, "witness.margin") };
}

function probes(given) {
  if (!Array.isArray(given) || given.length > MOST.probes) throw new Error("The verdict has no list of probes.");
  return given.map((probe, i) => ({
    role: wording(probe?.role, `probes[${i}].role`),
    relation: probe.relation == null ? null : wording(probe.relation, `probes[${i}].relation`),
    question: wording(probe.question, `probes[${i}].question`),
    view: wording(probe.view, `probes[${i}].view`),
    margin: number(probe.margin, `probes[${i}].margin`),
  }));
}

/** The policy beside a verdict; null where it is not there, or not one that the scale could be drawn from. */
function policy(given) {
  const { mode, coverage, threshold, quantiles, model } = given ?? {};
  const known = Number.isFinite(coverage) && coverage > 0 && coverage <= 1 && Number.isFinite(threshold);
  if (!known || !Array.isArray(quantiles) || quantiles.length !== 100) return null;
  const rising = quantiles.every((value, i) => Number.isFinite(value) && (i === 0 || quantiles[i - 1] <= value));
  if (!rising) return null;
  return { mode: typeof mode === "string" ? mode : "", coverage, threshold, quantiles, model: typeof model === "string" ? model : null };
}

function wording(value, name) {
  if (typeof value !== "string" || !value.trim() || value.length > MOST.text) throw new Error(`The verdict has no usable “${name}”.`);
  return value;
}

function number(value, name, optional = false) {
  if (Number.isFinite(value) || (optional && value === null)) return value;
  throw new Error(`The verdict has no usable “${name}”.`);
}

function one(value, known, name) {
  if (!known.includes(value)) throw new Error(`The verdict has no usable “${name}”.`);
  return value;
}
