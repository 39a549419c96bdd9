// Builds everything the lesson pages load into one folder of files with hashed names.
//   node tools/build.mjs OUTPUT_FOLDER LESSON_FILE...
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { bundle } from "./bundle.mjs";
import { writeLicences } from "./licences.mjs";
import { renderMaths } from "./maths.mjs";
import { copyPyodide } from "./pyodide.mjs";

const [output, ...lessons] = process.argv.slice(2);
if (!output || lessons.length === 0) {
  console.error("usage: node tools/build.mjs OUTPUT_FOLDER LESSON_FILE...");
  process.exit(2);
}

const started = performance.now();
const say = (text) =>
  console.log(`[web ${((performance.now() - started) / 1000).toFixed(1).padStart(5)} s] ${text}`);

await rm(output, { recursive: true, force: true });
await mkdir(output, { recursive: true });

const maths = await renderMaths(lessons);
await writeFile(path.join(output, "maths.json"), JSON.stringify(maths.markup, null, 0));
say(`maths: ${Object.keys(maths.markup).length} formulas as MathML`);

const files = await bundle(output, maths.letters);
say(`scripts and styles: ${Object.keys(files).join(", ")}`);

const pyodide = await copyPyodide(output);
say(`Python for the browser: ${pyodide.folder}, ${(pyodide.bytes / 1e6).toFixed(1)} MB`);

const packages = await writeLicences(path.join(output, "THIRD_PARTY_LICENSES"));
say(`licences of ${packages} packages`);

const manifest = { format: 1, files: { ...files, pyodide: pyodide.folder } };
await writeFile(path.join(output, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
say("done");
// Pyodide keeps the event loop alive; everything is written by now.
process.exit(0);
