// Pictures from a person: chosen, dropped, pasted or taken. What is too large for the server is made smaller here.

const MOST = { bytes: 12 << 20, pixels: 24e6 };
const UNSEEN = /^image\/tiff?$/;
/** formats that servers read and browsers do not show */

/** A picture that can be sent and shown; an Error with a sentence if it is none. */
export async function fromFile(file) {
  const name = file.name || "the picture";
  if (!file.size) throw new Error(`${name} is empty.`);
  const known = UNSEEN.test(file.type);
  let bitmap = null;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    if (!known) throw new Error(`${name} is not a picture that can be opened. JPEG, PNG, WebP, GIF, BMP and TIFF can.`);
  }
  if (bitmap === null) return { blob: file, url: null, label: name, note: "A TIFF: the model can see it, this browser cannot show it." };
  const { width, height } = bitmap;
  const fits = file.size <= MOST.bytes && width * height <= MOST.pixels;
  const blob = fits ? file : await smaller(bitmap);
  bitmap.close();
  const note = fits ? null : `${name} is large (${width} × ${height}), so a smaller copy of it is sent.`;
  return { blob, url: URL.createObjectURL(blob), label: name, note };
}

async function smaller(bitmap) {
  const shrink = Math.min(1, Math.sqrt(8e6 / (bitmap.width * bitmap.height)));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * shrink));
  canvas.height = Math.max(1, Math.round(bitmap.height * shrink));
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  const made = await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.92));
  if (made === null) throw new Error("This picture is too large to be made smaller here.");
  return made;
}

export const isJson = (file) => file.type === "application/json" || /\.json$/i.test(file.name);

/** Take what is dropped or pasted anywhere on the page: a file, or text that the receiver wants. */
export function receive(stage, { onFile, onText, wantsText }) {
  const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    stage.classList.add("over");
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) stage.classList.remove("over");
  });
  document.addEventListener("drop", (event) => {
    stage.classList.remove("over");
    if (!carries(event)) return;
    event.preventDefault();
    if (event.dataTransfer.files[0]) onFile(event.dataTransfer.files[0]);
  });
  document.addEventListener("paste", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const file = [...(event.clipboardData?.files ?? [])][0];
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!file && !wantsText(text)) return;
    event.preventDefault();
    if (file) onFile(file);
    else onText(text);
  });
}
