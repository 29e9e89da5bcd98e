import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface RunningService {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** The whole service in a process of its own, on a home of its own. */
export async function startService(args: readonly string[] = []): Promise<RunningService> {
  const home = await mkdtemp(join(tmpdir(), 'bench-'));
  const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
  const child = spawn(process.execPath, [main, 'serve', '--home', home, '--port', '0', '--drain-ms', '0', ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return {
    url: line.replace('listening on ', '').trim(),
    pid: child.pid!,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'close');
      await rm(home, { recursive: true });
    },
  };
}

/** Time of all threads of the service in ms, which other work on the machine hardly adds to. */
export function processorTime({ pid }: RunningService): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
  const TICK_MS = 10;
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Follows a job to its success. */
export async function finished({ url }: RunningService, jobId: string): Promise<void> {
  for (;;) {
    const { status, error } = (await (await fetch(`${url}/jobs/${jobId}?wait=30`)).json()) as { status: string; error: unknown }; // The service's own answer.
    if (status === 'succeeded') return;
    if (status !== 'pending' && status !== 'running') throw new Error(`${jobId} ended ${status}: ${JSON.stringify(error)}`);
  }
}
