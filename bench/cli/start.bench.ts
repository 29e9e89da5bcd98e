import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { computePercentile } from '../measure.js';
import { SETTLED_MS, readNumber } from '../variables.js';

/**
 * Measures how long a process takes from its start until it prints its address. The starts alternate with starts of an
 * empty `nodePath` program. In the last turn the bench also measures the memory of an idle service, after the process that
 * reads its stores has ended. Goals on a free machine: 0.3 s, 1.5 s by `npm start` with nothing to build, 160 MB.
 * START_TURNS sets the number of turns (default: seven). START_IDLE_MS sets the wait before the memory is read; if the
 * wait is shorter, the service is not yet idle.
 */
const TURNS = readNumber('START_TURNS');
/**
 * Wait in the last turn before the memory is read, in ms. It is long enough for the idle process that reads stores to
 * end.
 */
const IDLE_MS = readNumber('START_IDLE_MS');
const TICK_MS = 10;

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const nodePath = process.execPath;
const START_MODES = {
  'node that does nothing': [nodePath, '-e', 'console.log("listening on nothing"); setTimeout(() => {}, 1e6)'],
  'node dist/src/main.js serve': [nodePath, 'dist/src/main.js', 'serve'],
  'npm start, nothing to build': ['npm', 'start', '--silent', '--'],
} as const;

interface StartMeasurement {
  readonly wall: number;
  /** Processor time of the process and its descendants, ms. */
  readonly processor: number;
  /** Resident memory of the process and its descendants at the end of the turn, MiB. */
  readonly resident: number;
}

const results = new Map<string, StartMeasurement[]>(Object.keys(START_MODES).map((way) => [way, []]));
for (let turnNumber = 0; turnNumber < TURNS; turnNumber++) {
  for (const [way, command] of Object.entries(START_MODES)) {
    const idleMs = turnNumber === TURNS - 1 ? IDLE_MS : SETTLED_MS;
    console.log(`turn ${turnNumber + 1} of ${TURNS}: ${way}, left alone for ${idleMs / 1000} s`);
    results.get(way)!.push(await measureStart(command, idleMs));
  }
}
for (const [way, all] of results) {
  const formatMedian = (figure: keyof StartMeasurement): string =>
    computePercentile(
      all.map((each) => each[figure]).toSorted((a, b) => a - b),
      0.5,
    ).toFixed(0);
  console.log(
    `${way.padEnd(30)} ${formatMedian('wall').padStart(6)} ms, ${formatMedian('processor').padStart(6)} ms of processor, ${all.at(-1)!.resident.toFixed(0).padStart(4)} MiB after ${IDLE_MS / 1000} s`,
  );
}

async function measureStart(
  [program, ...args]: readonly [string, ...string[]],
  idleMs: number,
): Promise<StartMeasurement> {
  const home = await mkdtemp(join(tmpdir(), 'bench-start-'));
  const startMs = performance.now();
  const child = spawn(
    program,
    [...args, ...(args.includes('-e') ? [] : ['--home', home, '--port', '0', '--drain-ms', '0'])],
    {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8'))
    if ((text += chunk as string).includes('listening on')) break;
  const wall = performance.now() - startMs;
  const processor = sum(child.pid!, readTicks) * TICK_MS;
  await sleep(idleMs);
  const resident = sum(child.pid!, readResident);
  child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  await rm(home, { recursive: true, force: true });
  return { wall, processor, resident };
}

/** Returns the sum of a figure over a process and its descendants. */
function sum(pid: number, measure: (pid: number) => number): number {
  const childPids = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return childPids.reduce((total, child) => total + sum(child, measure), measure(pid));
}

function readTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

function readResident(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}
