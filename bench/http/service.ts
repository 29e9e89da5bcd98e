import { spawn } from 'node:child_process';
import { once } from 'node:events';
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
