// A verdict leaves the page as a document, and comes back as one: download, copy, open.

import { fileName, written } from "./trail.js";

const at = (id) => document.getElementById(id);

/** Make the buttons work. `shown` gives the entry on the card, `open` takes a document and where to say what is wrong. */
export function share({ shown, open }) {
  at("download").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([written(shown().verdict, shown().policy)], { type: "application/json" }));
    link.download = fileName(shown().verdict);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  });
  at("copy").addEventListener("click", async () => {
    const text = written(shown().verdict, shown().policy);
    try {
      await navigator.clipboard.writeText(text);
      at("copy").textContent = "Copied ✓";
      at("told").textContent = "Copied.";
      setTimeout(() => (at("copy").textContent = "Copy to share"), 2500);
    } catch {
      at("copy-text").value = text;
      at("copy-dialog").showModal();
      at("copy-text").select();
    }
  });

  at("open").addEventListener("click", () => {
    at("shared").value = "";
    at("open-message").hidden = true;
    at("open-dialog").showModal();
    at("shared").focus();
  });
  at("open-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (open(at("shared").value, "open-message")) at("open-dialog").close();
  });
  at("shared-file").addEventListener("change", async () => {
    const [file] = at("shared-file").files;
    at("shared-file").value = "";
    if (file && open(await file.text(), "open-message")) at("open-dialog").close();
  });
  for (const button of document.querySelectorAll("[data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
}
