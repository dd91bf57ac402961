// Numbers and reasons as people read them.

export const percent = (share) => `${Math.round(share * 1000) / 10}\u00a0%`;

export const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);

export const counted = (number) => number.toLocaleString("en");

export const plain = (value) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(2);

/** accepted, rejected, or neither */
export const word = (accepted) => (accepted === null ? "not calibrated" : accepted ? "accepted" : "rejected");

/** The word on a verdict: what became of the answer, or that nothing did. */
export const outcome = (verdict) => (verdict.no_verdict ? "no verdict" : OUTCOMES[verdict.verdict] ?? word(verdict.accepted));

const OUTCOMES = { corrected: "corrected", "cannot-be-told": "cannot be told" };

/** With a true minus, and quotation marks that open and close. */
export const typeset = (text) => text.replace(/(^|[\s(])-(?=\d)/g, "$1−").replace(/"([^"]*)"/g, "“$1”");

/** The API's reason says the verdict first and the numbers last; on the page both have a place of their own. */
export function sentence(reason) {
  const told = reason.startsWith("no verdict: ") ? reason.split("; the evidence: ")[0] : reason;
  const text = typeset(told.replace(/^(accepted|rejected|no verdict|corrected|cannot be told): /, "").split("; risk ")[0]);
  return capital(text) + (text.endsWith(".") ? "" : ".");
}

/** A sentence begins with a capital, unless it begins with a model's name: world:aligned stays as it is. */
export const capital = (text) => (/^\S*:\S/.test(text) ? text : text[0].toUpperCase() + text.slice(1));

export function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
