import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';
import { createIdleBalancer, keepThreads, openLaneThreads } from '#jobs/pool.js';

const run = promisify(execFile);

const open = () =>
  openLaneThreads({
    lane: 'light',
    threads: 1,
    numerics: 'wasm',
    startsAhead: true,
    heapMegabytes: 257,
    onFault: () => {},
  });

test('idle threads serve the next pool of their kind after they are returned; busy threads end', async () => {
  keepThreads();
  const first = open();
  await first.close();
  const second = open();
  expect(second.piscina).not.toBe(first.piscina);
  keepThreads();
  const third = open();
  expect(third.piscina).toBe(first.piscina);
  for (const { running } of [second, third]) running[0] = 1;
  await Promise.all([second.close(), third.close()]);
  keepThreads();
  const fourth = open();
  expect([first.piscina, second.piscina]).not.toContain(fourth.piscina);
  fourth.running[0] = 1;
  await fourth.close();
});

describe('the thread that receives a task', () => {
  const chooseThread = (
    preferred: number,
    threads: readonly { readonly id: number; readonly currentUsage: number }[],
  ) => {
    const hasStarted = (thread: number): boolean => thread < 8;
    const choose = createIdleBalancer({ thread: preferred }, hasStarted) as unknown as (
      task: unknown,
      threads: unknown,
    ) => { readonly id: number } | null;
    return choose({}, threads)?.id ?? null;
  };
  const [idle, other, busy] = [
    { id: 1, currentUsage: 0 },
    { id: 3, currentUsage: 0 },
    { id: 4, currentUsage: Infinity },
  ];
  const starting = { id: 8, currentUsage: 0 };

  test('is the preferred thread if it is idle, otherwise another idle one', () => {
    expect(chooseThread(3, [idle, other])).toBe(3);
    expect(chooseThread(4, [busy, other])).toBe(3);
    expect(chooseThread(0, [busy, idle])).toBe(1);
    expect(chooseThread(4, [busy])).toBeNull();
  });

  test('is never one that is still starting', () => {
    expect(chooseThread(0, [starting, busy, idle])).toBe(1);
    expect(chooseThread(8, [starting, busy])).toBeNull();
  });
});

/** Number of threads that are ended while they start. */
const THREADS = IS_SOAK ? 240 : 90;

/**
 * Script that starts threads as Piscina does and ends them while they start. It runs in a separate process, because
 * this may end the process. If the machine is busy, fewer threads start in the available time.
 */
const ENDS_THREADS = `
import { Worker } from 'node:worker_threads';
const [required] = process.argv.slice(1);
const require = "const { parentPort, workerData } = require('node:worker_threads'); parentPort.postMessage(0);"
  + 'require(workerData.required);';
let started = 0;
const end = performance.now() + 40_000;
async function lane() {
  for (; started < ${THREADS} && performance.now() < end; started++) {
    const workerData = { required, entry: 'data:text/javascript,export const runTask = () => 0' };
    const thread = new Worker(require, { eval: true, execArgv: [], workerData });
    await new Promise((resolve) => thread.once('message', resolve));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
    await thread.terminate();
  }
}
await Promise.all([lane(), lane(), lane()]);
process.stdout.write(String(started));
`;

test('a thread that ends while it starts does not end the process', async () => {
  const requiredPath = fileURLToPath(new URL('../../src/jobs/thread-entry.cjs', import.meta.url));
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', ENDS_THREADS, requiredPath]);
  expect(Number(stdout)).toBeGreaterThan(0);
});
