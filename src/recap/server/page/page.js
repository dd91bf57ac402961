// The page: what is in hand (a picture, a question), what was answered, and what a person does about it.

import * as api from "./api.js";
import { comparable, deployed } from "./coverage.js";
import { drawHistory, forget, remember, turned } from "./history.js";
import { fromFile, isJson, receive } from "./picture.js";
import { drawScenes } from "./scenes.js";
import { share } from "./sharing.js";
import { clearTexts, setUpTexts } from "./text.js";
import * as trail from "./trail.js";
import { clearVerdict, drawRisk, drawVerdict, spoken } from "./verdict.js";
import { capital, counted, listed, percent } from "./words.js";

const at = (id) => document.getElementById(id);
const ONLY_DRAWINGS = "These scenes are drawings, made for the small models in the box; this model sees them as it would any drawing.";

const now = {
  policy: null,
  model: "",
  models: [],
  atHome: false,
  picture: null,
  entries: [],
  shown: null,
  percent: null,
  busy: false,
};

// What is in hand

function hold(picture) {
  if (picture !== now.picture) {
    clearTexts(picture?.things);
    clear();
  }
  now.picture = picture;
  at("picture").hidden = !picture?.url;
  if (picture?.url) at("picture").src = picture.url;
  at("picture").alt = picture?.alt ?? "";
  at("no-picture").hidden = Boolean(picture?.url);
  at("no-picture").textContent = picture ? picture.label : "Drop a picture here";
  for (const radio of document.querySelectorAll("[name=scene]")) radio.checked = radio.value === picture?.scene;
  const drawing = picture?.kind === "drawing";
  const notes = [
    picture?.note,
    picture?.credit && `Photograph: ${picture.credit}.`,
    picture && !drawing && (beyond() || (picture.kind ? "" : answering())),
    drawing && !now.atHome && ONLY_DRAWINGS,
  ].filter(Boolean);
  at("note").textContent = notes.join(" ");
  at("note").hidden = !notes.length;
  suggest(picture?.questions ?? []);
}

/** What to know before a photograph is asked about: whether anyone here was made for it. */
function beyond() {
  const bounded = now.models.filter((each) => each.pictures);
  if (bounded.length < now.models.length || bounded.some((each) => each.pictures === "photographs")) return "";
  const who = listed(bounded.map((each) => `${each.name} was made for ${each.pictures}`));
  return `${who}. No model for photographs is served here, so there is no verdict on one.`;
}

/** Who answers about a photograph of one's own, and that it knows some things only. */
function answering() {
  const sees = now.models.find((each) => each.pictures === "photographs" && each.knows?.length);
  return sees ? `${sees.name} answers about photographs. It knows ${sees.knows.length} words for things, which are listed below.` : "";
}

/** What can be asked about: the things that each small model knows. */
function tellKnown() {
  const some = now.models.filter((each) => each.knows?.length);
  at("known").hidden = !some.length;
  at("known-summary").textContent = `What ${listed(some.map((each) => each.name))} know${some.length > 1 ? "" : "s"}`;
  at("known-things").replaceChildren(
    ...some.map(({ name, pictures, knows }) => {
      const told = document.createElement("p");
      told.textContent = `${name}, in ${pictures}: ${listed([...knows].sort())}.`;
      return told;
    }),
  );
}

function suggest(questions) {
  at("worth").hidden = !questions.length;
  at("suggestions").replaceChildren(
    ...questions.map((question) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = question;
      button.addEventListener("click", () => {
        at("question").value = question;
        ask();
      });
      item.append(button);
      return item;
    }),
  );
}

async function take(file) {
  say("");
  if (isJson(file)) {
    open(await file.text());
    return;
  }
  try {
    const picture = await fromFile(file);
    const before = now.picture;
    if (before?.questions?.includes(at("question").value)) at("question").value = "";
    hold({ ...picture, alt: `Your picture: ${picture.label}` });
    forget(before, now.entries);
    at("told").textContent = `${picture.label} is in place. Ask about it.`;
    if (matchMedia("(hover: hover)").matches) at("question").focus();
  } catch (error) {
    say(error.message);
  }
}

// Asking

/** The picture as it is sent: a scene by its name to who knows it, anything else as bytes. */
function sent() {
  return now.picture?.kind === "drawing" && now.atHome ? now.picture.scene : now.picture?.blob;
}

async function ask() {
  const question = at("question").value.trim();
  if (now.busy) return;
  if (!now.picture) return say("Choose a picture to ask about first.");
  const given = sent();
  if (!given) return say("The picture is still being drawn. A moment, please.");
  if (question.length < 3) {
    clear();
    return say("Ask something: “Is the mug to the left of the laptop?”");
  }
  say("");
  busy(true);
  const { picture } = now;
  const answer = document.querySelector("[name=answer]:checked").value;
  try {
    const verdict = await api.audit(given, question, answer);
    if (now.policy && verdict.model !== now.policy.model) await refresh(verdict.model);
    const entry = { verdict, picture, policy: now.policy, shared: false };
    now.entries = remember(now.entries, entry, now.picture);
    show(entry);
    if (at("card").getBoundingClientRect().top > innerHeight * 0.3) at("card").scrollIntoView({ block: "start" });
    refresh(verdict.model);
  } catch (refused) {
    clear();
    if (refused.status === 401) askForToken();
    else say(refused.message);
  } finally {
    busy(false);
  }
}

function busy(on) {
  now.busy = on;
  at("go").setAttribute("aria-disabled", String(on));
  at("go").textContent = on ? "Asking…" : "Ask";
  at("ask").setAttribute("aria-busy", String(on));
}

function say(message, where = "message") {
  at(where).textContent = message;
  at(where).hidden = !message;
}

// Showing

function show(entry) {
  now.shown = entry;
  drawVerdict(entry);
  at("told").textContent = spoken(entry.verdict);
  now.percent = comparable(entry.verdict, entry.policy) ? deployed(entry.policy) : null;
  weigh();
}

/** No verdict must stand beside another question or another picture than its own; it stays in the list. */
function clear() {
  Object.assign(now, { shown: null, percent: null });
  clearVerdict();
  weigh();
}

/** Everything that depends on the slider. */
function weigh() {
  const { shown, entries } = now;
  const alike = shown ? entries.filter((each) => same(each.policy, shown.policy) && comparable(each.verdict, each.policy)) : [];
  const flipped = now.percent === null ? [] : turned(alike, shown.policy, now.percent);
  if (shown) {
    const others = alike.filter((each) => each !== shown && each.verdict.risk !== null).map((each) => each.verdict.risk);
    drawRisk(shown, { percent: now.percent, others, turned: flipped.length, visit: alike.length });
  }
  at("no-history").hidden = entries.length > 0;
  drawHistory(at("history"), entries, { shown, flipped, onOpen: reopen });
}

const same = (one, other) => one === other || (one && other && one.threshold === other.threshold && one.model === other.model);

function reopen(entry) {
  say("");
  hold(entry.picture);
  at("question").value = entry.verdict.question;
  show(entry);
  at("history").querySelector("[aria-current]")?.focus();
  at("card").scrollIntoView({ block: "nearest" });
}

function open(text, where = "message") {
  try {
    const { verdict, policy } = trail.read(text);
    const entry = { verdict, picture: null, policy: policy ?? now.policy, shared: true };
    now.entries = remember(now.entries, entry, now.picture);
    hold(null);
    at("no-picture").textContent = "This verdict came without its picture";
    at("question").value = verdict.question;
    say("");
    show(entry);
    return true;
  } catch (error) {
    say(error.message, where);
    return false;
  }
}

// The server: its policy, its drift, its scenes

async function refresh(model) {
  try {
    now.policy = await api.policy(model);
  } catch {
    return; // the last one known stays in place; asking will say what is wrong
  }
  const { policy } = now;
  const serving = listed(now.models.map((each) => each.name));
  at("serving").textContent = serving && `${serving}${policy ? `, ${percent(policy.coverage)} coverage` : ", not calibrated"}`;
  at("policy").textContent = policy ? about(policy) : now.model && "Nothing is calibrated here, so answers are neither accepted nor rejected: the page shows the evidence.";
  const drift = policy?.drift;
  at("drift").hidden = !drift;
  if (!drift) return;
  at("drift").className = drift.moved ? "moved" : "";
  const told = `${drift.moved ? "⚠ " : ""}Drift: ${drift.verdict}.`;
  if (at("drift").textContent !== told) at("drift").textContent = told;
}

function about({ model, mode, coverage, calibrated_on: { rows, units }, gate, promise }) {
  const whose = now.models.length > 1 && model ? ` for ${model}` : "";
  const told = `The policy in force${whose}: ${mode}, made to accept ${percent(coverage)}, calibrated on ${counted(rows)} labelled answers in ${counted(units)} groups.`;
  return `${told}${gate ? ` The gate: ${gate}.` : ""} ${promise.startsWith("no guarantee") ? capital(promise) : `Promised: ${promise}`}.`;
}

async function start() {
  try {
    const { model, at_home: atHome, models, scenes } = await api.scenes();
    Object.assign(now, { model, atHome, models });
    tellKnown();
    at("token").hidden = true;
    await refresh();
    offer(scenes);
  } catch (refused) {
    if (refused.status === 401) askForToken();
    else say(refused.message);
  }
}

function askForToken() {
  if (!at("token").hidden) say("That token is not the right one.", "token-message");
  at("token").hidden = false;
  at("token-field").value = "";
  at("token-field").focus();
}

function offer(given) {
  // Photographs come last where nobody was made for them, and near the front where somebody was.
  const [photographs, drawings] = [true, false].map((yes) => given.filter(({ kind }) => (kind === "photograph") === yes));
  const scenes = beyond() ? [...drawings, ...photographs] : [...drawings.slice(0, 1), ...photographs, ...drawings.slice(1)];
  at("scenes-box").hidden = !scenes.length;
  drawScenes(at("scenes"), scenes, {
    first: !now.picture && !now.shown,
    onPick: (scene) => {
      say("");
      hold(scene);
      [at("question").value] = scene.questions;
    },
    onDrawn: (scene) => now.picture === scene && hold(scene),
  });
}

// What a person does

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
at("token").addEventListener("submit", (event) => {
  event.preventDefault();
  api.useToken(at("token-field").value.trim());
  say("", "token-message");
  start();
});
for (const id of ["file", "camera"]) {
  at(id).addEventListener("change", () => {
    if (at(id).files[0]) take(at(id).files[0]);
    at(id).value = "";
  });
}
receive(at("stage"), { onFile: take, onText: open, wantsText: trail.looksLikeOne });

at("coverage").addEventListener("input", () => {
  now.percent = Number(at("coverage").value);
  weigh();
});
at("reset").addEventListener("click", () => {
  now.percent = deployed(now.shown.policy);
  weigh();
  at("coverage").focus();
});
let width = 0;
new ResizeObserver(() => {
  if (now.shown && at("scale-box").clientWidth !== width) weigh();
  width = at("scale-box").clientWidth;
}).observe(at("card"));

share({ shown: () => now.shown, open });
setUpTexts(sent, (refused) => refused.status === 401 && (askForToken(), true));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") say("");
});

start();
