import { spawn } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One call that a block made with curl. */
export interface Call {
  readonly status: number;
  readonly method: string;
  readonly path: string;
  readonly type: string | null;
  readonly text: string;
}

export interface Outcome {
  readonly exitStatus: number;
  readonly output: string;
  readonly calls: readonly Call[];
}

export interface Shell {
  /** Runs a block of a language as its reader would, in a folder of its own, and tells what curl heard. */
  run(language: string, text: string): Promise<Outcome>;
}

const BETWEEN = '\u001e';

/**
 * Every answer of curl is kept beside being printed; a job that is not finished is asked for again, as the guide tells its reader to do.
 * `divisor` is the command of this package.
 */
const PRELUDE = String.raw`
set -euo pipefail
divisor() { node "$DIVISOR_PACKAGE/dist/src/main.js" "$@"; }
npx() { shift; divisor "$@"; }
curl() {
  local kept="$CALLS/body" meta
  while :; do
    case " $* " in
      *" -o "*) meta=$(command curl -sS -w '%{http_code} %{method} %{url_effective} %{content_type}' "$@"); : > "$kept" ;;
      *) meta=$(command curl -sS -o "$kept" -w '%{http_code} %{method} %{url_effective} %{content_type}' "$@") ;;
    esac
    case "$*" in */jobs/*wait=*) grep -qE '"status":"(pending|running)"' "$kept" && continue ;; esac
    break
  done
  { printf '%s\n' "$meta"; cat "$kept"; printf '\036'; } >> "$CALLS/log"
  cat "$kept"
}
`;

const COMMANDS: Readonly<Record<string, (text: string) => readonly [string, readonly string[]]>> = {
  sh: (text) => ['bash', ['-c', PRELUDE + text]],
  python: (text) => ['python3', ['-c', text]],
  js: (text) => [process.execPath, ['--input-type=module', '-e', text]],
};

export async function openShell(folder: string, environment: Readonly<Record<string, string>>): Promise<Shell> {
  const calls = join(folder, 'calls');
  const desk = join(folder, 'desk');
  await mkdir(calls, { recursive: true });
  await mkdir(desk, { recursive: true });
  return {
    async run(language, text) {
      await rm(join(calls, 'log'), { force: true });
      await writeFile(join(calls, 'body'), '');
      const [command, words] = COMMANDS[language]!(text);
      const env = { ...process.env, ...environment, CALLS: calls, DIVISOR_PACKAGE: process.cwd() };
      const child = spawn(command, words, { cwd: language === 'js' ? process.cwd() : desk, env, stdio: ['ignore', 'pipe', 'pipe'] });
      const output: string[] = [];
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => void output.push(chunk));
      const exitStatus = await new Promise<number>((resolve, reject) => child.on('error', reject).on('close', (status) => resolve(status ?? -1)));
      return { exitStatus, output: output.join(''), calls: await readCalls(join(calls, 'log')) };
    },
  };
}

async function readCalls(log: string): Promise<Call[]> {
  const text = await readFile(log, 'utf8').catch(() => '');
  return text.split(BETWEEN).slice(0, -1).map((entry) => {
    const at = entry.indexOf('\n');
    const [status = '', method = '', url = '', ...type] = entry.slice(0, at).split(' ');
    const { pathname, search } = new URL(url);
    return { status: Number(status), method, path: pathname + search, type: type.join(' ') || null, text: entry.slice(at + 1) };
  });
}
