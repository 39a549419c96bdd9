// One text with the licence of every package whose code or fonts end up in the pages.
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const MODULES = path.join(ROOT, "node_modules");
const LICENCE_FILE = /^(licen[cs]e|copying|ofl)/i;

// What comes inside a package: the interpreter and its library, compiled into Pyodide.
const INSIDE = [
  { name: "CPython", license: "PSF-2.0", repository: "https://github.com/python/cpython" },
];

// Packages that only run at build time ship nothing; fonts are the exception.
const SHIPPED_AT_BUILD = (name) => name.startsWith("@fontsource");

export async function writeLicences(target) {
  const lock = JSON.parse(await readFile(path.join(ROOT, "package-lock.json"), "utf8"));
  const names = Object.entries(lock.packages)
    .filter(([where]) => where.startsWith("node_modules/"))
    .map(([where, info]) => [where.slice("node_modules/".length), info])
    .filter(([name, info]) => !info.dev || SHIPPED_AT_BUILD(name))
    .map(([name]) => name)
    .sort();
  const inside = INSIDE.map(async (about) => part(about, await spareText(about.license, about.name)));
  const parts = await Promise.all([...names.map(licenceOf), ...inside]);
  await writeFile(target, parts.join(`\n${"=".repeat(78)}\n\n`));
  return parts.length;
}

async function licenceOf(name) {
  const folder = path.join(MODULES, name);
  const about = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => LICENCE_FILE.test(entry));
  const text = file
    ? await readFile(path.join(folder, file), "utf8")
    : await spareText(about.license, name);
  return part(about, text);
}

function part({ name, version, license, repository, homepage }, text) {
  const source = repository?.url ?? repository ?? homepage ?? "";
  return `${name} ${version ?? ""}\nLicence: ${license}\nSource: ${source}\n\n${text.trim()}\n`;
}

// Some packages name their licence without carrying its text.
async function spareText(licence, name) {
  try {
    return await readFile(path.join(ROOT, "licences", `${licence}.txt`), "utf8");
  } catch {
    throw new Error(`${name} carries no licence text and licences/${licence}.txt is missing`);
  }
}
