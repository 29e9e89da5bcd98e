import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runHere } from '../cli/process.js';
import { runPython } from '../clients/python-user.js';
import { waitUntil } from '../waiting.js';
import { spaceOut, type Answer, type Expectation } from './expectations.js';

/** A behaviour with its inputs. `wanted` is the optimum under a limit in addition to the request of a step. */
export interface Case {
  readonly user: string;
  readonly steps: readonly Step[];
  readonly must: readonly Expectation[];
  readonly wanted?: { of: string; parameter: string; value: number; weights: Readonly<Record<string, number>> };
}

export type Step = { readonly id: string } & (
  | { readonly request: string; readonly body?: unknown }
  | { readonly command: readonly string[] }
  | { readonly python: string }
  | { readonly copy: readonly [from: string, to: string] }
  | { readonly mark: true }
  | { readonly damage: { readonly which: 'smallest' | 'largest'; readonly how: string } }
);

interface Place {
  /** Folder of the case, which is not changed. */
  readonly source: string;
  /** Copy of this folder, in which the steps run. */
  readonly folder: string;
  readonly url: string;
}

/** Runs the steps in order. @returns the answer of each step by its id */
export async function runSteps(steps: readonly Step[], place: Place): Promise<Map<string, Answer>> {
  await cp(place.source, place.folder, { recursive: true });
  const answers = new Map<string, Answer>();
  let marked = new Set<string>();
  for (const step of steps) {
    if ('request' in step) answers.set(step.id, await sendRequest(step, place));
    else if ('command' in step) answers.set(step.id, await runCommand(step.command, place));
    else if ('python' in step) answers.set(step.id, await runScript(step.python, place));
    else if ('copy' in step)
      await cp(join(place.folder, step.copy[0]), join(place.folder, step.copy[1]), { recursive: true });
    else if ('mark' in step) marked = new Set(listResults(place));
    else
      damageResult(
        step.damage,
        listResults(place).filter((file) => !marked.has(file)),
      );
  }
  return answers;
}

async function sendRequest(step: { request: string; body?: unknown }, place: Place): Promise<Answer> {
  const [method = '', path = ''] = step.request.split(' ');
  const { body } = step;
  const content = typeof body === 'string' ? await readFile(join(place.folder, body), 'utf8') : JSON.stringify(body);
  const text = content?.replaceAll('{folder}', place.folder);
  const answer = await readAnswer(
    await fetch(`${place.url}${path}`, {
      method,
      ...(text !== undefined && { body: text, headers: { 'content-type': 'application/json' } }),
    }),
  );
  const job = (answer.json as { job_id?: string } | null)?.job_id;
  const isAccepted = answer.status === 202 && job !== undefined;
  const ended = isAccepted ? await readEnd(`${place.url}/jobs/${encodeURIComponent(job)}`) : answer;
  const { activate, store_id: store } = JSON.parse(text ?? '{}') as { activate?: boolean; store_id?: string };
  if (activate === true && ended.status < 300) await waitForStore(place.url, store);
  return { ...ended, status: answer.status };
}

async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  if (!isJson) return { status: response.status, text, json: null };
  const json = JSON.parse(text) as unknown;
  return { status: response.status, text: spaceOut(json), json };
}

/** Returns the last status of a job. */
const readEnd = (address: string) =>
  waitUntil(async () => {
    const answer = await readAnswer(await fetch(address));
    const { status } = answer.json as { status?: string };
    return status === 'pending' || status === 'running' ? undefined : answer;
  }) as Promise<Answer>;

const waitForStore = (url: string, store: string | undefined) =>
  waitUntil(async () => {
    const { json } = await readAnswer(await fetch(`${url}/health`));
    const { active } = (json as { store: { active: string | null } }).store;
    return store === undefined ? active !== null : active === store;
  });

/** Runs a command of `divisor` in the folder of the case. Commands share the process with the service. */
async function runCommand(words: readonly string[], { folder, url }: Place): Promise<Answer> {
  const before = process.cwd();
  process.chdir(folder);
  try {
    const resolved = words.map((word) => word.replaceAll('{folder}', folder));
    const { status, out, err } = await runHere(resolved, { DIVISOR_URL: url });
    return { status: Number(status), text: `${out}${err}`.split('\n').map(spaceOutLine).join('\n'), json: null };
  } finally {
    process.chdir(before);
  }
}

/** Writes a line of JSON with spaces, as the patterns expect it. */
function spaceOutLine(line: string): string {
  return /^\{.*\}$/.test(line) ? spaceOut(JSON.parse(line)) : line;
}

async function runScript(script: string, { folder, url }: Place): Promise<Answer> {
  const { status, out, err } = await runPython([script], folder, { DIVISOR_URL: url });
  return { status: status ?? -1, text: `${out}${err}`, json: null };
}

/** Lists the files of results in the home. */
const listResults = ({ folder }: Place): string[] => {
  const results = join(folder, '../../home/artifacts');
  return readdirSync(results, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
};

function damageResult({ which, how }: { which: string; how: string }, files: string[]): void {
  const bySize = files.toSorted((a, b) => statSync(a).size - statSync(b).size);
  const file = which === 'smallest' ? bySize[0] : bySize.at(-1);
  if (file === undefined) throw new Error('No file of a result was written after the mark.');
  if (how === 'remove') rmSync(file);
  else truncateSync(file, Math.floor(statSync(file).size / 2));
}
