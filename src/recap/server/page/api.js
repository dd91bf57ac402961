// What the page asks its own server, and how refusals come back.

let token = "";

/** A request that did not work out, with a sentence for people. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The token lives in this variable, and nowhere else. */
export function useToken(given) {
  token = given;
}

async function call(path, options = {}) {
  const headers = { ...options.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch {
    throw new Refused(0, "The server does not answer. Is it still running?");
  }
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, sentence(error) || `The server refused this (${answer.status}).`);
}

function sentence(error) {
  if (typeof error !== "string" || !error) return "";
  const text = error.replace(/^(image|question|answer): /, "The $1: ");
  return text[0].toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? "" : ".");
}

/** The policy in force for a model; null where nothing is calibrated. */
export async function policy(model) {
  try {
    return await (await call(model ? `v1/policy?model=${encodeURIComponent(model)}` : "v1/policy")).json();
  } catch (refused) {
    if (refused.status === 404) return null;
    throw refused;
  }
}

/** The scenes in the box, and what the model makes of drawings. */
export async function scenes() {
  return (await call("v1/scenes")).json();
}

export async function scenePicture(name) {
  return (await call(`v1/scenes/${name}/picture`)).blob();
}

/** A verdict. The picture is a file, or the name of a scene that the model is at home in. */
export async function audit(picture, question, answer) {
  const image = typeof picture === "string" ? picture : await base64(picture);
  const body = JSON.stringify({ image, question, ...(answer ? { answer } : {}) });
  return (await call("v1/audit", { method: "POST", headers: { "content-type": "application/json" }, body })).json();
}

/** A file's bytes as base64: what follows the comma of a data: URL. */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Refused(0, "The picture cannot be read."));
    reader.readAsDataURL(file);
  });
}

/** The verdicts on a text's claims. The picture is as in `audit`. */
export async function auditText(picture, text) {
  const image = typeof picture === "string" ? picture : await base64(picture);
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ image, text }) };
  return (await call("v1/audit/text", options)).json();
}
