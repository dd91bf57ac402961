// Numbers and reasons as people read them.

export const percent = (share) => `${Math.round(share * 1000) / 10}\u00a0%`;

export const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);

export const plain = (value) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(2);

/** accepted, rejected, or neither */
export const word = (accepted) => (accepted === null ? "not calibrated" : accepted ? "accepted" : "rejected");

/** The API's reason says the verdict first and the numbers last; on the page both have a place of their own. */
export function sentence(reason) {
  const text = reason
    .replace(/^(accepted|rejected): /, "")
    .split("; risk ")[0]
    .replace(/(^|[\s(])-(?=\d)/g, "$1−")
    .replace(/"([^"]*)"/g, "“$1”");
  return text[0].toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");
}

export function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
