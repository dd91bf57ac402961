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

/** The policy in force; null where nothing is calibrated. */
export async function policy() {
  try {
    return await (await call("v1/policy")).json();
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
  const asked = { question, ...(answer ? { answer } : {}) };
  if (typeof picture === "string") {
    const body = JSON.stringify({ image: picture, ...asked });
    return (await call("v1/audit", { method: "POST", headers: { "content-type": "application/json" }, body })).json();
  }
  const form = new FormData();
  form.append("image", picture, "picture");
  for (const [name, value] of Object.entries(asked)) form.append(name, value);
  return (await call("v1/audit", { method: "POST", body: form })).json();
}

/** The verdicts on a text's claims. The picture is as in `audit`. */
export async function auditText(picture, text) {
  const image = typeof picture === "string" ? picture : await dataUrl(picture);
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ image, text }) };
  return (await call("v1/audit/text", options)).json();
}

function dataUrl(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(new Refused(0, "The picture cannot be read."));
    reader.readAsDataURL(blob);
  });
}
