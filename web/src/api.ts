// The local server, as the page sees it.

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly body: unknown,
  ) {
    super(message);
  }
}

const LEARNER = "Draftproof-Learner";
let learner = "";

/** From now on every request names the folder that this page belongs to, so that no other answers. */
export function speakFor(folder: string): void {
  learner = folder;
}

/** What a learner is told when the server is gone. */
export const GONE = "The lesson server does not answer. Is “draftproof learn” still running?";

async function request(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    const headers = { ...(init.headers as Record<string, string> | undefined), ...(learner && { [LEARNER]: learner }) };
    response = await fetch(path, { credentials: "same-origin", ...init, headers });
  } catch {
    throw new ApiError(0, GONE, null);
  }
  if (response.ok) return response;
  const body: unknown = await response.json().catch(() => null);
  const said = (body as { error?: string } | null)?.error;
  throw new ApiError(response.status, said ?? `The lesson server answered ${response.status}.`, body);
}

/** Rejects when the server is gone, whatever the browser has kept of this file. */
export async function mustAnswer(path: string): Promise<void> {
  await request(path, { method: "HEAD", cache: "no-store" });
}

export async function getJson<T>(path: string): Promise<T> {
  return (await request(path, {})).json() as Promise<T>;
}

export function send(
  method: "POST" | "PUT",
  path: string,
  body: unknown,
  more: RequestInit = {},
): Promise<Response> {
  return request(path, {
    method,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    ...more,
  });
}

export async function postJson<T>(path: string, body: unknown): Promise<T> {
  return (await send("POST", path, body)).json() as Promise<T>;
}

/** The records of a newline-delimited JSON answer, as they arrive. */
export async function* stream(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<unknown> {
  const response = await send("POST", path, body, { signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : lines.pop()!;
    for (const line of lines) if (line.trim()) yield JSON.parse(line);
    if (done) return;
  }
}

/** Hands the learner a file. */
export function download(name: string, data: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
