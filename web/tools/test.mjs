// Runs the unit tests: bundles each, since Node 20 reads no TypeScript, and hands them to Node.
import { spawnSync } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const output = path.join(root, "node_modules/.cache/draftproof/test");
await rm(output, { recursive: true, force: true });
const tests = (await readdir(path.join(root, "test"))).filter((name) => name.endsWith(".test.ts"));
await build({
  absWorkingDir: root,
  entryPoints: tests.map((name) => `test/${name}`),
  bundle: true,
  platform: "node",
  format: "esm",
  packages: "external",
  outdir: output,
  outExtension: { ".js": ".mjs" },
  logLevel: "warning",
});
const files = tests.map((name) => path.join(output, name.replace(/\.ts$/, ".mjs")));
const done = spawnSync(process.execPath, ["--test", ...files], { cwd: root, stdio: "inherit" });
process.exit(done.status ?? 1);
