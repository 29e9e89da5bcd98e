import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createProcessClock, readThreadTimes } from '../measure.js';
import { readFolder } from '../variables.js';

export interface RunningService {
  readonly url: string;
  readonly pid: number;
  /** Stops the service and starts it again on the same home, at another address. */
  restart(): Promise<RunningService>;
  stop(): Promise<void>;
}

/** Starts the whole service in a separate process, on a separate home. */
export async function startService(args: readonly string[] = []): Promise<RunningService> {
  return startOn(await mkdtemp(join(tmpdir(), 'bench-')), args);
}

/** Starts a worker of a cluster in a separate process, on a separate home. */
export async function startWorker(args: readonly string[]): Promise<RunningService> {
  return startOn(await mkdtemp(join(tmpdir(), 'bench-')), args, { verb: 'worker' });
}

export interface StartOptions {
  readonly verb?: 'serve' | 'worker';
  /** Path of the program. Default: the program of this tree. */
  readonly main?: string;
  /** Environment variables in addition to those of the bench. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Home folders of running services, with their processes. Both are removed when a bench is stopped. */
const running = new Map<string, ChildProcess>();
for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.once(signal, () => process.exit(status));
process.once('exit', () => {
  for (const [home, child] of running) {
    child.kill('SIGKILL');
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
});

/** Starts the program on a home, and returns when it has printed its address. */
export async function startOn(
  home: string,
  args: readonly string[],
  options: StartOptions = {},
): Promise<RunningService> {
  const { verb = 'serve', main = fileURLToPath(new URL('../../src/main.js', import.meta.url)), environment } = options;
  const child = spawn(process.execPath, [main, verb, '--home', home, '--port', '0', '--drain-ms', '0', ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...environment },
  });
  running.set(home, child);
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const end = async (): Promise<void> => {
    child.kill('SIGTERM');
    await once(child, 'close');
  };
  return {
    url: line.replace('listening on ', '').trim(),
    pid: child.pid!,
    async restart() {
      await end();
      return startOn(home, args, options);
    },
    async stop() {
      await end();
      running.delete(home);
      await rm(home, { recursive: true });
    },
  };
}

/**
 * Waits until the service serves its market and is idle. It must be idle for longer than idle threads pause (a second).
 */
export async function waitForIdle(service: RunningService): Promise<void> {
  const QUIET_LOOKS = 10;
  const LOOK_MS = 300;
  const QUIET_MS = 10;
  for (let quiet = 0, before = 0; quiet < QUIET_LOOKS;) {
    await sleep(LOOK_MS);
    const { store } = (await (await fetch(`${service.url}/health`)).json()) as { store: { status: string } }; // type of the service's response
    const now = readProcessorTime(service);
    quiet = store.status === 'ready' && now - before <= QUIET_MS ? quiet + 1 : 0;
    before = now;
  }
}

/** Returns the time of each thread of the service in ms, by thread id. */
export function readServiceThreads({ pid }: RunningService): ReadonlyMap<string, number> {
  return readThreadTimes(pid);
}

/** Processor clocks by process id. */
const clocks = new Map<number, () => number>();

/** Returns the processor time of all threads of the service in ms, which other load on the machine hardly affects. */
export function readProcessorTime({ pid }: RunningService): number {
  let clock = clocks.get(pid);
  if (clock === undefined) clocks.set(pid, (clock = createProcessClock(pid)));
  return clock();
}

/** Waits for the success of a job by its events, which do not contain its result. */
export async function waitForJob({ url }: Pick<RunningService, 'url'>, jobId: string): Promise<void> {
  for (;;) {
    const eventsText = await (await fetch(`${url}/jobs/${jobId}/events`)).text();
    const last =
      eventsText
        .match(/^data: .*$/gm)
        ?.at(-1)
        ?.replace('data: ', '') ?? eventsText;
    const { status, error } = JSON.parse(last) as { status: string; error: unknown }; // type of the service's response
    if (status === 'succeeded') return;
    if (status !== 'pending' && status !== 'running')
      throw new Error(`${jobId} ended ${status}: ${JSON.stringify(error)}`);
  }
}

/** Returns the memory that the service uses now, and a function that returns its peak since now, in MiB. */
export function watchMemory({ pid }: RunningService): { readonly held: number; peak(): number } {
  const readKibibytes = (line: 'VmRSS' | 'VmHWM'): number =>
    Number(new RegExp(`${line}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  writeFileSync(`/proc/${pid}/clear_refs`, '5'); // resets the peak
  return { held: readKibibytes('VmRSS'), peak: () => readKibibytes('VmHWM') };
}

/** Result of the service or of the peer: times in ms, and the numbers that must agree. */
export interface Measurement {
  /** Processor time of all threads of the process. */
  readonly processor: number;
  readonly wall: number;
  readonly answer: readonly number[];
}

export interface PythonPeer {
  /** Version of each optional module, null if it is not installed. */
  readonly versions: Readonly<Record<string, string | null>>;
  ask(request: object): Promise<Measurement>;
  stop(): Promise<void>;
}

/**
 * Starts `peer.py` in a process that runs for the whole bench, so that its start and its imports are not measured.
 * `BENCH_PEERS` may name a folder whose `bin` contains the `python3` to call. Default: the one on the path. The process
 * uses one thread, because the service has one worker.
 *
 * @returns the peer, or the reason why it is unavailable
 */
export async function startPython(): Promise<PythonPeer | string> {
  const folder = readFolder('BENCH_PEERS');
  const ownPython = folder === undefined ? undefined : join(folder, 'bin', 'python3');
  // The compiler copies only TypeScript, so the script is in the source folder.
  const script = fileURLToPath(new URL('../../../bench/http/peers/peer.py', import.meta.url));
  const child = spawn(ownPython !== undefined && existsSync(ownPython) ? ownPython : 'python3', [script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1' },
  });
  const startFailure = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (status) => reject(new Error(`python3 ended with ${status}`)));
  });
  startFailure.catch(() => undefined);
  const lines = createInterface({ input: child.stdout });
  const ask = async (request: object): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    const [line] = (await Promise.race([once(lines, 'line'), startFailure])) as [string];
    return JSON.parse(line);
  };
  try {
    const versions = (await ask({ work: 'versions' })) as PythonPeer['versions'];
    return {
      versions,
      ask: (request) => ask(request) as Promise<Measurement>,
      async stop() {
        child.stdin.end();
        if (child.exitCode === null) await once(child, 'exit');
      },
    };
  } catch (failure) {
    return `python3 with numpy does not start: ${failure instanceof Error ? failure.message : String(failure)}`;
  }
}
