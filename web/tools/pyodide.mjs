// Pyodide's interpreter and standard library, the library compiled beforehand: an interpreter then
// starts about four times as fast, which is what makes a fresh one per graded run affordable.
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { loadPyodide } from "pyodide";

const SOURCE = path.dirname(fileURLToPath(import.meta.resolve("pyodide")));
const COPIED = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"];

// Modules that need sockets, processes, threads or a terminal, none of which a page has, and the
// tools of a developer's shell.
const LEFT_OUT = [
  "_pyrepl", "antigravity", "bdb", "cProfile", "cmd", "compileall", "ctypes", "curses", "dbm",
  "doctest", "ensurepip", "ftplib", "getpass", "idlelib", "imaplib", "mailbox", "modulefinder",
  "multiprocessing", "netrc", "optparse", "pdb", "pickletools", "plistlib", "poplib", "profile",
  "pstats", "pyclbr", "pydoc", "pydoc_data", "rlcompleter", "shelve", "smtplib", "socketserver",
  "sqlite3", "tabnanny", "tarfile", "this", "trace", "turtle", "unittest", "venv", "webbrowser",
  "wsgiref", "xml", "xmlrpc", "zipapp",
];

const RECOMPILE = `
import importlib.util, io, marshal, struct, sys, zipfile

source = next(entry for entry in sys.path if entry.endswith(".zip"))
target = io.BytesIO()
header = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, 0, 0)
with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
    for name in sorted(old.namelist()):
        if name.split("/")[0].removesuffix(".py") in left_out:
            continue
        data = old.read(name)
        if name.endswith(".py"):
            code = compile(data, f"{source}/{name}", "exec", dont_inherit=True)
            name, data = f"{name}c", header + marshal.dumps(code)
        new.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
target.getvalue()
`;

// Nothing that stayed may need what was left out.
const CHECK = `
import importlib, sys, warnings, zipfile

warnings.simplefilter("ignore")
library = next(entry for entry in sys.path if entry.endswith(".zip"))
modules = {name.split("/")[0].removesuffix(".pyc") for name in zipfile.ZipFile(library).namelist()}
broken = []
for module in sorted(modules - {"__hello__", "__phello__"}):
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] in left_out:
            broken.append(f"{module} needs {error.name}")
    except Exception:
        pass
"; ".join(broken)
`;

export async function copyPyodide(output) {
  const files = Object.fromEntries(
    await Promise.all(COPIED.map(async (name) => [name, await readFile(path.join(SOURCE, name))])),
  );
  files["python_stdlib.zip"] = await compiledLibrary();
  files["pyodide-lock.json"] = await emptyLock();
  const hash = createHash("sha256");
  for (const name of Object.keys(files).sort()) hash.update(name).update(files[name]);
  const folder = `pyodide-${hash.digest("hex").slice(0, 12)}`;
  await mkdir(path.join(output, folder), { recursive: true });
  for (const [name, data] of Object.entries(files)) {
    await writeFile(path.join(output, folder, name), data);
  }
  await check(path.resolve(output, folder));
  const bytes = Object.values(files).reduce((sum, data) => sum + data.length, 0);
  return { folder, bytes };
}

async function compiledLibrary() {
  const library = runWithList(await loadPyodide(), RECOMPILE);
  return Buffer.from(library.toJs());
}

async function check(folder) {
  const broken = runWithList(await loadPyodide({ indexURL: folder }), CHECK);
  if (broken) throw new Error(`the standard library is cut too far: ${broken}`);
}

function runWithList(python, code) {
  return python.runPython(code, { globals: python.toPy({ left_out: LEFT_OUT }) });
}

// The package list names hundreds of wheels that are not shipped; the interpreter only needs the
// part that says which interpreter this is.
async function emptyLock() {
  const lock = JSON.parse(await readFile(path.join(SOURCE, "pyodide-lock.json"), "utf8"));
  return Buffer.from(JSON.stringify({ ...lock, packages: {} }));
}
