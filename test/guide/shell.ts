import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DIVISOR_IN_SHELL } from '../cli/process.js';

/** A call of curl in a block. */
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
  /** Runs a block in its language in a separate folder, as a reader would. @returns the responses that curl received */
  run(language: string, text: string): Promise<Outcome>;
  close(): Promise<void>;
}

/**
 * Shell functions. As the guide instructs its reader, curl stores and prints every response and polls a job until it
 * ends. `divisor` is the command of this package.
 */
const PRELUDE = String.raw`
set -euo pipefail
divisor() { ${DIVISOR_IN_SHELL} "$@"; }
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

/**
 * Runs blocks from files one after another and prints the exit status of each. This process is small. A process as
 * large as the test needs ten milliseconds of processor time to start a child.
 */
const STARTER = String.raw`
while read -r language; do
  text=$(cat "$BLOCK/text")
  cd "$BLOCK/desk"
  case "$language" in
    sh) bash -c "$text" ;;
    python) python3 -c "$text" ;;
    js) cd "$DIVISOR_PACKAGE" && node --input-type=module -e "$text" ;;
  esac < /dev/null > "$BLOCK/output" 2>&1
  echo $?
done
`;

export async function openShell(folder: string, environment: Readonly<Record<string, string>>): Promise<Shell> {
  const callsFolder = join(folder, 'calls');
  await mkdir(join(folder, 'desk'), { recursive: true });
  const env = { ...process.env, ...environment, BLOCK: folder, CALLS: callsFolder, DIVISOR_PACKAGE: process.cwd() };
  const starter = spawn('bash', ['-c', STARTER], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const statuses = createInterface({ input: starter.stdout })[Symbol.asyncIterator]();
  return {
    async run(language, text) {
      await rm(callsFolder, { recursive: true, force: true });
      await mkdir(callsFolder);
      await writeFile(join(folder, 'text'), language === 'sh' ? PRELUDE + text : text);
      starter.stdin.write(`${language}\n`);
      const { value, done } = await statuses.next();
      if (done === true) throw new Error('The shell has ended.');
      const output = await readFile(join(folder, 'output'), 'utf8');
      return { exitStatus: Number(value), output, calls: await readCalls(callsFolder) };
    },
    async close() {
      starter.stdin.end();
      await once(starter, 'close');
    },
  };
}

async function readCalls(folder: string): Promise<Call[]> {
  const metaFiles = (await readdir(folder)).filter((name) => name.endsWith('.meta')).toSorted();
  return Promise.all(
    metaFiles.map(async (name) => {
      const [status = '', method = '', url = '', ...type] = (await readFile(join(folder, name), 'utf8')).split(' ');
      const text = await readFile(join(folder, name.replace('.meta', '.body')), 'utf8').catch(() => '');
      const { pathname, search } = new URL(url);
      return { status: Number(status), method, path: pathname + search, type: type.join(' ') || null, text };
    }),
  );
}
