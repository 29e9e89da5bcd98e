import { spawn } from 'node:child_process';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
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

/**
 * Every answer of curl is kept beside being printed; a job that is not finished is asked for again, as the guide tells its reader to do.
 * `divisor` is the command of this package.
 */
const PRELUDE = String.raw`
set -euo pipefail
divisor() { node "$DIVISOR_PACKAGE/dist/src/main.js" "$@"; }
npx() { shift; divisor "$@"; }
curl() {
  local number=0 kept file='' last='' meta word
  while printf -v kept '%s/%03d' "$CALLS" "$number"; [ -e "$kept.meta" ]; do number=$((number + 1)); done
  for word in "$@"; do [ "$last" = -o ] && file="$word"; last="$word"; done
  while :; do
    meta=$(command curl -sS -o "$kept.body" -w '%{http_code} %{method} %{url_effective} %{content_type}' "$@")
    case "$*" in */jobs/*wait=*) grep -qE '"status":"(pending|running)"' "$kept.body" && continue ;; esac
    break
  done
  printf '%s' "$meta" > "$kept.meta"
  if [ -n "$file" ]; then cp "$kept.body" "$file"; else cat "$kept.body" 2> /dev/null || true; fi
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
  await mkdir(desk, { recursive: true });
  return {
    async run(language, text) {
      await rm(calls, { recursive: true, force: true });
      await mkdir(calls);
      const [command, words] = COMMANDS[language]!(text);
      const env = { ...process.env, ...environment, CALLS: calls, DIVISOR_PACKAGE: process.cwd() };
      const child = spawn(command, words, {
        cwd: language === 'js' ? process.cwd() : desk,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const output: string[] = [];
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (chunk: string) => void output.push(chunk));
      const exitStatus = await new Promise<number>((resolve, reject) =>
        child.on('error', reject).on('close', (status) => resolve(status ?? -1)),
      );
      return { exitStatus, output: output.join(''), calls: await readCalls(calls) };
    },
  };
}

async function readCalls(folder: string): Promise<Call[]> {
  const metas = (await readdir(folder)).filter((name) => name.endsWith('.meta')).toSorted();
  return Promise.all(
    metas.map(async (name) => {
      const [status = '', method = '', url = '', ...type] = (await readFile(join(folder, name), 'utf8')).split(' ');
      const text = await readFile(join(folder, name.replace('.meta', '.body')), 'utf8').catch(() => '');
      const { pathname, search } = new URL(url);
      return { status: Number(status), method, path: pathname + search, type: type.join(' ') || null, text };
    }),
  );
}
