// Every formula of the lesson files, turned into MathML when the pages are built.
import { readFile } from "node:fs/promises";
import { parse } from "smol-toml";
import temml from "temml";

// The same fragments that the server looks up: $$display$$ and $inline$, on one line or several.
const FORMULA = /\$\$([^$]+)\$\$|\$([^$\n]+)\$/g;

export async function renderMaths(lessonFiles) {
  const markup = {};
  for (const file of lessonFiles) {
    const lesson = parse(await readFile(file, "utf8"));
    for (const text of prose(lesson)) {
      for (const [key, display, inline] of text.matchAll(FORMULA)) {
        markup[key] ??= toMathML(display ?? inline, display !== undefined, file);
      }
    }
  }
  const letters = [...new Set(Object.values(markup).join(""))].join("");
  return { markup, letters };
}

// Code is shown as it stands, so a dollar sign in it is no formula.
const CODE_KEYS = new Set(["starter", "reference", "code", "source"]);

function* prose(value, key = "") {
  if (typeof value === "string") {
    if (!CODE_KEYS.has(key)) yield value;
  } else if (Array.isArray(value)) {
    for (const item of value) yield* prose(item, key);
  } else if (value !== null && typeof value === "object") {
    for (const [name, item] of Object.entries(value)) yield* prose(item, name);
  }
}

function toMathML(tex, displayMode, file) {
  try {
    const html = temml.renderToString(tex.trim(), { displayMode, throwOnError: true });
    return html.replace(/ style="[^"]*"/g, "");
  } catch (error) {
    throw new Error(`${file}: cannot read the formula ${tex}: ${error.message}`);
  }
}
