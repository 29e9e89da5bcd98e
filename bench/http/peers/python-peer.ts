import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { folderFrom } from '../../variables.js';

/** The result of one side: times in ms, and the numbers on which both sides must agree. */
export interface Done {
  /** Of all threads of the process. */
  readonly processor: number;
  readonly wall: number;
  readonly answer: readonly number[];
}

export interface PythonPeer {
  /** Version of each module it may use, null if it is not installed. */
  readonly versions: Readonly<Record<string, string | null>>;
  ask(request: object): Promise<Done>;
  stop(): Promise<void>;
}

/**
 * `peer.py` in a permanent process, so that neither start nor imports count. `BENCH_PEERS` may name a folder whose
 * `bin` contains the `python3` to call; default: the one on the path. One thread, as the service has one worker.
 *
 * @returns a sentence if there is no numpy
 */
export async function startPython(): Promise<PythonPeer | string> {
  const folder = folderFrom('BENCH_PEERS');
  const own = folder === undefined ? undefined : join(folder, 'bin', 'python3');
  // The script is in the source folder: only TypeScript is compiled.
  const script = fileURLToPath(new URL('../../../../bench/http/peers/peer.py', import.meta.url));
  const child = spawn(own !== undefined && existsSync(own) ? own : 'python3', [script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1' },
  });
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (status) => reject(new Error(`python3 ended with ${status}`)));
  });
  failed.catch(() => undefined);
  const lines = createInterface({ input: child.stdout });
  const ask = async (request: object): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    const [line] = (await Promise.race([once(lines, 'line'), failed])) as [string];
    return JSON.parse(line);
  };
  try {
    const versions = (await ask({ work: 'versions' })) as PythonPeer['versions'];
    return {
      versions,
      ask: (request) => ask(request) as Promise<Done>,
      async stop() {
        child.stdin.end();
        if (child.exitCode === null) await once(child, 'exit');
      },
    };
  } catch (failure) {
    return `python3 with numpy does not start: ${failure instanceof Error ? failure.message : String(failure)}`;
  }
}
