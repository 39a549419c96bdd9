// One text with the licence of every package whose code or fonts end up in the pages.
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const MODULES = path.join(ROOT, "node_modules");
const LICENCE_FILE = /^(licen[cs]e|copying|ofl)/i;

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
  const parts = await Promise.all(names.map(licenceOf));
  await writeFile(target, parts.join(`\n${"=".repeat(78)}\n\n`));
  return names.length;
}

async function licenceOf(name) {
  const folder = path.join(MODULES, name);
  const about = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => LICENCE_FILE.test(entry));
  const text = file
    ? await readFile(path.join(folder, file), "utf8")
    : await spareText(about.license, name);
  const source = about.repository?.url ?? about.repository ?? about.homepage ?? "";
  return `${name} ${about.version}\nLicence: ${about.license}\nSource: ${source}\n\n${text.trim()}\n`;
}

// Some packages name their licence without carrying its text.
async function spareText(licence, name) {
  try {
    return await readFile(path.join(ROOT, "licences", `${licence}.txt`), "utf8");
  } catch {
    throw new Error(`${name} carries no licence text and licences/${licence}.txt is missing`);
  }
}
