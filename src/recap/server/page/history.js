// The answers of this visit, newest first. They live in memory, and go with the page.

import { acceptedAt, comparable } from "./coverage.js";
import { outcome, word } from "./words.js";

const MOST = 60;

/** Put a new entry in front; the oldest ones go, with their pictures unless those are still in use. */
export function remember(entries, entry, inHand) {
  const kept = [entry, ...entries];
  for (const old of kept.splice(MOST)) if (old.picture !== inHand) forget(old.picture, kept);
  return kept;
}

/** Let go of a person's picture that no entry shows. Scenes stay: their thumbnails are on the page. */
export function forget(picture, entries) {
  const used = entries.some((each) => each.picture === picture);
  if (picture?.url && !picture.scene && !used) URL.revokeObjectURL(picture.url);
}

/** Those whose verdict another coverage would turn. */
export function turned(entries, policy, percent) {
  return entries.filter(
    ({ verdict }) => comparable(verdict, policy) && acceptedAt(verdict, policy, percent) !== verdict.accepted,
  );
}

/** Draw the list. */
export function drawHistory(list, entries, { shown, flipped, onOpen }) {
  list.replaceChildren(
    ...entries.map((entry) => {
      const { verdict, picture } = entry;
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.className = "past";
      if (entry === shown) button.setAttribute("aria-current", "true");
      button.append(thumbnail(picture), text("span", "asked", verdict.question), verdictOf(verdict, flipped.includes(entry)));
      button.addEventListener("click", () => onOpen(entry));
      item.append(button);
      return item;
    }),
  );
}

function thumbnail(picture) {
  if (!picture?.url) return text("span", "thumb", "{ }");
  const made = document.createElement("img");
  made.className = "thumb";
  made.alt = "";
  made.src = picture.url;
  return made;
}

function verdictOf(verdict, flips) {
  const said = document.createElement("span");
  said.className = "outcome";
  const state = verdict.accepted === null || verdict.verdict === "cannot-be-told" ? "open" : verdict.accepted ? "accepted" : "rejected";
  said.append(text("b", "", verdict.answer), text("span", `chip ${state}`, outcome(verdict)));
  if (flips) said.append(text("span", "flips", `would be ${word(!verdict.accepted)}`));
  return said;
}

function text(name, style, content) {
  const made = document.createElement(name);
  if (style) made.className = style;
  made.textContent = content;
  if (name === "span" && style === "thumb") made.setAttribute("aria-hidden", "true");
  return made;
}
