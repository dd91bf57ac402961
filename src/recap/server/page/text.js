// A text about the picture in hand: its claims in colour, and a sentence on each.

import * as api from "./api.js";
import { typeset } from "./words.js";

const at = (id) => document.getElementById(id);
/** of things that the photographs' model knows */
const SAMPLE = "A cup is on the table, to the left of a laptop, and a cat is under the table.";
const ORDER = ["no-verdict", "unchecked", "uncalibrated", "accepted", "cannot-be-told", "corrected", "rejected"];
/** "accepted: the claim …": the word stands in the heading already. */
const without = (word, reason) => (reason.startsWith(`${word}: `) ? reason.slice(word.length + 2) : reason);
/** What is claimed, in the text's words. A name alone claims nothing: of it, that it is there, or is not. */
const claimed = (letters, { kind, answer, subject, start, end }) => {
  const said = letters.slice(start, end).join("");
  if (kind !== "exists") return `“${said}”`;
  return answer === "no" ? `“${subject}” not in the picture` : `“${said}” in the picture`;
};
const WORDS = {
  accepted: "accepted",
  rejected: "rejected",
  unchecked: "not checkable",
  uncalibrated: "evidence only",
  "no-verdict": "no verdict",
  corrected: "corrected: the opposite is offered",
  "cannot-be-told": "cannot be told",
};

/** The text in pieces, each with the worst verdict of the claims that cover it; places count characters, not code units. */
export function pieces(text, claims) {
  const letters = [...text];
  const worst = letters.map(() => -1);
  for (const claim of claims) {
    for (let place = claim.start; place < claim.end; place += 1) {
      worst[place] = Math.max(worst[place], ORDER.indexOf(claim.verdict));
    }
  }
  const found = [];
  letters.forEach((letter, place) => {
    const verdict = ORDER[worst[place]] ?? null;
    const last = found.at(-1);
    if (last && last.verdict === verdict) last.text += letter;
    else found.push({ text: letter, verdict });
  });
  return found;
}

function draw(told) {
  at("text-shown").replaceChildren(
    ...pieces(told.text, told.claims).map(({ text, verdict }) => {
      const mark = document.createElement(verdict ? "mark" : "span");
      if (verdict) mark.className = verdict;
      mark.textContent = text;
      return mark;
    }),
  );
  const letters = [...told.text];
  const items = [
    ...told.claims.map((claim) => [claim.verdict, `${WORDS[claim.verdict]}: ${claimed(letters, claim)}`, without(WORDS[claim.verdict], claim.reason)]),
    ...told.unsure.map((part) => ["unchecked", `not understood: “${letters.slice(part.start, part.end).join("")}”`, part.why]),
  ];
  at("text-claims").replaceChildren(
    ...items.map(([verdict, head, why]) => {
      const item = document.createElement("li");
      item.className = verdict;
      const what = document.createElement("b");
      what.textContent = head;
      const reason = document.createElement("span");
      reason.className = "small";
      reason.textContent = typeset(why);
      item.append(what, document.createElement("br"), reason);
      return item;
    }),
  );
  const count = (word) => told.claims.filter((claim) => claim.verdict === word).length;
  const open = count("no-verdict") + count("cannot-be-told");
  at("text-told").textContent = told.claims.length
    ? `${told.model} was asked: ${told.claims.length} claim${told.claims.length === 1 ? "" : "s"}, ${count("rejected") + count("corrected")} rejected${open ? `, ${open} without a verdict` : ""}.`
    : "No spatial claim was found, so nothing was audited.";
  at("text-result").hidden = false;
}

/** Another picture is in hand: what was said about the last one is not about it, nor is the sample text. */
export function clearTexts(things = []) {
  at("text-result").hidden = true;
  const [one, two, three] = things;
  const more = three ? `, and the ${three} is behind the ${two}` : "";
  at("text").placeholder = two ? `The ${one} is to the left of the ${two}${more}.` : SAMPLE;
}

/** `picture` gives what is in hand: the name of a scene, a file, or nothing. `refused` is told what the server refused. */
export function setUpTexts(picture, refused) {
  at("text-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const say = (message) => {
      at("text-message").textContent = message;
      at("text-message").hidden = !message;
    };
    const given = picture();
    say(given ? "" : "Choose a picture first.");
    at("text-result").hidden = true;
    if (!given) return;
    at("text-go").setAttribute("aria-disabled", "true");
    try {
      const told = await api.auditText(given, at("text").value);
      if (picture() === given) draw(told);
      else say("The picture was changed meanwhile. Audit the text again.");
    } catch (error) {
      if (!refused(error)) say(error.message);
    } finally {
      at("text-go").removeAttribute("aria-disabled");
    }
  });
}
