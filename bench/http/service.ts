import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processClock, timesOfThreads } from '../measure.js';

export interface RunningService {
  readonly url: string;
  readonly pid: number;
  /** Stops it and starts it again on the same home; it has another address then. */
  restart(): Promise<RunningService>;
  stop(): Promise<void>;
}

/** The whole service in a separate process, on a separate home. */
export async function startService(args: readonly string[] = []): Promise<RunningService> {
  return startOn(await mkdtemp(join(tmpdir(), 'bench-')), args);
}

/** A worker of a cluster, likewise. */
export async function startWorker(args: readonly string[]): Promise<RunningService> {
  return startOn(await mkdtemp(join(tmpdir(), 'bench-')), args, { verb: 'worker' });
}

export interface StartOptions {
  readonly verb?: 'serve' | 'worker';
  /** The program of another tree when it is not this one. */
  readonly main?: string;
}

/** Folders of services that run, with their processes: neither outlives a bench that is stopped. */
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

/** Starts it on a separate home. */
export async function startOn(
  home: string,
  args: readonly string[],
  options: StartOptions = {},
): Promise<RunningService> {
  const { verb = 'serve', main = fileURLToPath(new URL('../../src/main.js', import.meta.url)) } = options;
  const child = spawn(process.execPath, [main, verb, '--home', home, '--port', '0', '--drain-ms', '0', ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
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

/** Waits until the service serves its market and does nothing more, longer than idle threads pause (a second). */
export async function settled(service: RunningService): Promise<void> {
  const QUIET_LOOKS = 10;
  const LOOK_MS = 300;
  const QUIET_MS = 10;
  for (let quiet = 0, before = 0; quiet < QUIET_LOOKS;) {
    await sleep(LOOK_MS);
    const { store } = (await (await fetch(`${service.url}/health`)).json()) as { store: { status: string } }; // The service's own answer.
    const now = processorTime(service);
    quiet = store.status === 'ready' && now - before <= QUIET_MS ? quiet + 1 : 0;
    before = now;
  }
}

/** Time of each thread of the service in ms, by its id. */
export function threadTimes({ pid }: RunningService): ReadonlyMap<string, number> {
  return timesOfThreads(pid);
}

/** Clocks of the services that were asked. */
const clocks = new Map<number, () => number>();

/** Time of all threads of the service in ms, which other work on the machine hardly adds to. */
export function processorTime({ pid }: RunningService): number {
  let clock = clocks.get(pid);
  if (clock === undefined) clocks.set(pid, (clock = processClock(pid)));
  return clock();
}

/** Follows a job to its success by its events, which do not carry its result. */
export async function finished({ url }: Pick<RunningService, 'url'>, jobId: string): Promise<void> {
  for (;;) {
    const events = await (await fetch(`${url}/jobs/${jobId}/events`)).text();
    const last =
      events
        .match(/^data: .*$/gm)
        ?.at(-1)
        ?.replace('data: ', '') ?? events;
    const { status, error } = JSON.parse(last) as { status: string; error: unknown }; // The service's own answer.
    if (status === 'succeeded') return;
    if (status !== 'pending' && status !== 'running')
      throw new Error(`${jobId} ended ${status}: ${JSON.stringify(error)}`);
  }
}

/** MiB that the service holds now, and the most that it holds from now on. */
export function watchMemory({ pid }: RunningService): { readonly held: number; peak(): number } {
  const of = (line: 'VmRSS' | 'VmHWM'): number =>
    Number(new RegExp(`${line}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  writeFileSync(`/proc/${pid}/clear_refs`, '5'); // The peak counts from here.
  return { held: of('VmRSS'), peak: () => of('VmHWM') };
}
