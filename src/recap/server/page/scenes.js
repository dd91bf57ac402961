// The scenes and photographs in the box, as a row of thumbnails of which one can be taken.

import { scenePicture } from "./api.js";
import { listed } from "./words.js";

/** Draw the row. Pictures come one by one; a scene can be taken before its own is there. */
export function drawScenes(box, scenes, { first, onPick, onDrawn }) {
  const held = scenes.map(({ name, kind, things, questions, credit }) => {
    const about = `A ${kind}: ${listed(things)}`;
    return { scene: name, kind, label: about, alt: about, things, questions, credit, blob: null, url: null };
  });
  box.replaceChildren(...held.map((scene) => thumbnail(scene, onPick, onDrawn)));
  if (first && held.length) onPick(held[0]);
}

function thumbnail(scene, onPick, onDrawn) {
  const label = document.createElement("label");
  const radio = document.createElement("input");
  const image = document.createElement("img");
  Object.assign(radio, { type: "radio", name: "scene", value: scene.scene, className: "unseen" });
  radio.setAttribute("aria-label", scene.label);
  Object.assign(image, { alt: "", width: 96, height: 96 });
  label.append(radio, image);
  label.title = scene.credit ? `${scene.label} (${scene.credit})` : scene.label;
  radio.addEventListener("change", () => onPick(scene));
  scenePicture(scene.scene).then(
    (blob) => {
      Object.assign(scene, { blob, url: URL.createObjectURL(blob) });
      image.src = scene.url;
      onDrawn(scene);
    },
    () => label.remove(),
  );
  return label;
}
