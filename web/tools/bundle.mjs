// Scripts, styles and fonts. The worker is bundled alone: its security policy lets it load no
// script but its own file and Pyodide's.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import subsetFont from "subset-font";

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const MATHS_FONT = "node_modules/@fontsource/stix-two-math/files/stix-two-math-latin-400-normal.woff2";
const FONT_CACHE = "node_modules/.cache/draftproof";

export async function bundle(output, letters) {
  await cutMathsFont(letters);
  const shared = {
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    outdir: path.resolve(output),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ".woff2": "file" },
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  };
  const results = await Promise.all([
    build({ ...shared, entryPoints: ["src/main.tsx", "src/styles.css"], splitting: true }),
    build({
      ...shared,
      entryPoints: ["src/worker.ts"],
    }),
  ]);
  return Object.assign({}, ...results.map((result) => entryFiles(result.metafile)));
}

function entryFiles(metafile) {
  const files = {};
  for (const [file, info] of Object.entries(metafile.outputs)) {
    if (info.entryPoint?.startsWith("src/") && /\.(tsx?|css)$/.test(info.entryPoint)) {
      const stem = path.basename(info.entryPoint).replace(/\.(tsx?|css)$/, "");
      files[stem + path.extname(file)] = path.basename(file);
    }
  }
  return files;
}

// A maths font is needed for brackets and sums that stretch; only the letters that occur are kept.
async function cutMathsFont(letters) {
  const font = await readFile(path.join(ROOT, MATHS_FONT));
  const italics = [...letters].flatMap((letter) => mathItalic(letter));
  const cut = await subsetFont(font, letters + italics.join(""), { targetFormat: "woff2" });
  await mkdir(path.join(ROOT, FONT_CACHE), { recursive: true });
  await writeFile(path.join(ROOT, FONT_CACHE, "maths.woff2"), cut);
}

// A browser shows a one-letter <mi> in the slanted letters of the mathematical block.
function mathItalic(letter) {
  const code = letter.codePointAt(0);
  if (letter === "h") return ["\u210e"];
  if (letter >= "a" && letter <= "z") return [String.fromCodePoint(0x1d44e + code - 97)];
  if (letter >= "A" && letter <= "Z") return [String.fromCodePoint(0x1d434 + code - 65)];
  if (letter >= "α" && letter <= "ω") return [String.fromCodePoint(0x1d6fc + code - 0x3b1)];
  return [];
}
