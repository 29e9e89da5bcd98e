import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { openLiveService, type LiveService } from '../real/live.js';

const isRunnable = (command: string, ...words: string[]) => spawnSync(command, words).status === 0;
/** Python script that finds modules without loading them. To load them would take seconds. */
const FIND =
  'import sys; from importlib.util import find_spec; sys.exit(any(find_spec(name) is None for name in sys.argv[1:]))';
/**
 * Commands of Python interpreters that may have pandas. Packages of a Linux distribution often belong only to its own
 * Python.
 */
export const PYTHONS = ['python3', '/usr/bin/python3'].filter((command) => isRunnable(command, '--version'));
export const PYTHON = PYTHONS.find((command) => isRunnable(command, '-c', FIND, 'pandas')) ?? PYTHONS[0] ?? '';
export const isPythonHere = PYTHON !== '';
export const hasCommand = (command: string) => isRunnable(command, '--version');
export const hasModuleIn = (command: string, ...modules: readonly string[]) =>
  isRunnable(command, '-c', FIND, ...modules);
export const hasModule = (...modules: readonly string[]) => isPythonHere && hasModuleIn(PYTHON, ...modules);

/** Prints why tests are skipped if modules are missing. */
export function reportMissing(tests: string, needs: Readonly<Record<string, boolean>>): void {
  const missingPrograms = Object.entries(needs).flatMap(([name, isHere]) => (isHere ? [] : [name]));
  if (missingPrograms.length > 0)
    console.log(`Tests of ${tests} are skipped that need ${missingPrograms.join(', or ')}.`);
}

export const CLIENTS = resolve('src/clients/python');

export interface PythonOutcome {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

const createPythonEnvironment = (environment: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  ...process.env,
  PYTHONPATH: CLIENTS,
  PYTHONDONTWRITEBYTECODE: '1',
  ...environment,
});

/** Runs a Python script in a process as a user would. A service in this process can respond in the meantime. */
export function runPython(
  words: readonly string[],
  folder: string,
  environment: Readonly<Record<string, string>>,
): Promise<PythonOutcome> {
  return new Promise((done, reject) => {
    const child = spawn(PYTHON, words, {
      cwd: folder,
      env: createPythonEnvironment(environment),
    });
    const texts = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => void (texts.out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => void (texts.err += text));
    child.on('error', reject).on('close', (status) => done({ status, ...texts }));
  });
}

/**
 * Python program that runs scripts one after another and reloads the client for each. Other modules stay loaded,
 * because pandas, for example, takes a second to load. Each input line is a script in JSON. Each output line contains
 * status, output and errors.
 */
const SCRIPTS = String.raw`
import io, json, sys, traceback
from contextlib import redirect_stderr, redirect_stdout

answers = sys.stdout
for line in sys.stdin:
    for name in [name for name in sys.modules if name.split(".")[0] == "divisor"]:
        del sys.modules[name]
    out, err, status = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            exec(compile(json.loads(line), "<script>", "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            status = 1
    print(json.dumps([status, out.getvalue(), err.getvalue()]), file=answers, flush=True)
`;

interface Scripts {
  run(script: string): Promise<PythonOutcome>;
  close(): Promise<void>;
}

function openScripts(folder: string, environment: Readonly<Record<string, string>>): Scripts {
  const child = spawn(PYTHON, ['-c', SCRIPTS], {
    cwd: folder,
    env: createPythonEnvironment(environment),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exit = once(child, 'close');
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async run(script) {
      child.stdin.write(`${JSON.stringify(script)}\n`);
      const { value, done } = await answers.next();
      if (done === true) throw new Error('Python has ended.');
      const [status, out, err] = JSON.parse(value) as [number, string, string];
      return { status, out, err };
    },
    async close() {
      child.stdin.end();
      await exit;
    },
  };
}

/** A service with a market and a run of an index, and a folder in which Python runs as for a user. */
export interface PythonUser {
  readonly service: LiveService;
  readonly folder: string;
  python(words: readonly string[], environment?: Readonly<Record<string, string>>): Promise<PythonOutcome>;
  run(script: string): Promise<PythonOutcome>;
  /** Returns the JSON value on the last output line of a script. The script can use the client `d`. */
  runScript(script: string): Promise<unknown>;
  close(): Promise<void>;
}

export async function openPythonUser(): Promise<PythonUser> {
  const service = await openLiveService();
  const folder = await mkdtemp(join(tmpdir(), 'divisor-python-'));
  await service.job('/data/synthetic', { store_id: 'market', assets: 10, start: '2019-01-02', end: '2020-12-31' });
  await service.ok('PUT', '/indices/PY', {
    id: 'PY',
    name: 'Python',
    calendar: 'XNYS',
    base_date: '2020-01-02',
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  await service.job('/analytics/PY/backtest', { transaction_cost_bps: 5 });
  const startPython = (words: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    runPython(words, folder, { DIVISOR_URL: service.url, ...environment });
  const scripts = openScripts(folder, { DIVISOR_URL: service.url });
  return {
    service,
    folder,
    python: startPython,
    run: scripts.run,
    async runScript(script) {
      const { status, out, err } = await scripts.run(
        `import json\nfrom divisor import *\nd = Divisor(frames=False)\n${script}`,
      );
      expect(status, err).toBe(0);
      return JSON.parse(out.trimEnd().split('\n').at(-1)!);
    },
    async close() {
      await scripts.close();
      await service.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
