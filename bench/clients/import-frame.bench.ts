import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startService } from '../http/service.js';
import { treeMs } from '../thread-time.js';
import { textFrom } from '../variables.js';

/**
 * A large frame by the Python client, phase by phase, into a service in a process of its own: 592,000 rows of eight columns, 32 MB as
 * Parquet. Goal: less than 3 s from the call until the store is served. Beside the clock the processor time of client and service with the
 * processes that read for it: what a machine without other work takes at most. `BENCH_PYTHON` may name the
 * interpreter, which needs pandas.
 */
const NAMES = 500;
const DAYS = 1184;
const ROUNDS = 5;
const GOAL_MS = 3000;

/** One round as the script tells it, in ms. */
interface Round {
  readonly rows: number;
  readonly columns: number;
  readonly bytes: number;
  /** Frame to Parquet alone. */
  readonly encoding: number;
  /** Processor time of the client in an import: checks, encoding, sending. */
  readonly client: number;
  /** An import that serves nothing, by the clock. */
  readonly stored: number;
  /** One that serves the store. */
  readonly served: number;
}

const python = textFrom('BENCH_PYTHON')!;
const clients = fileURLToPath(new URL('../../../src/clients/python', import.meta.url));
// The script lies beside the sources: only TypeScript is compiled.
const script = fileURLToPath(new URL('../../../bench/clients/import-frame.py', import.meta.url));

const service = await startService();
try {
  const child = spawn(python, [script, service.url, String(NAMES), String(DAYS), String(ROUNDS)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONPATH: clients, PYTHONDONTWRITEBYTECODE: '1' },
  });
  await once(child, 'spawn').catch((failure: unknown) => {
    throw new Error(`${python} cannot be started; BENCH_PYTHON names another.`, { cause: failure });
  });
  const rounds: (Round & { readonly service: number })[] = [];
  let before = treeMs(service.pid);
  for await (const line of createInterface({ input: child.stdout })) {
    const now = treeMs(service.pid);
    rounds.push({ ...(JSON.parse(line) as Round), service: now - before }); // The script's own lines.
    before = now;
    child.stdin.write('\n');
  }
  if (rounds.length < ROUNDS) throw new Error('The script ended early: it needs pandas.');
  report(rounds);
} finally {
  await service.stop();
}

function report(rounds: readonly (Round & { readonly service: number })[]): void {
  const { rows, columns, bytes } = rounds[0]!;
  const least = (of: (round: Round & { readonly service: number }) => number): number => Math.min(...rounds.map(of));
  const ms = (value: number): string => `${value.toFixed(0).padStart(6)} ms`;
  const served = least((round) => round.served);
  console.log(`${rows} rows x ${columns}, ${(bytes / 1e6).toFixed(1)} MB as Parquet; least of ${rounds.length}`);
  console.log(`  encoding alone          ${ms(least(({ encoding }) => encoding))}`);
  console.log(`  client, processor time  ${ms(least(({ client }) => client))}  checks, encoding, sending`);
  console.log(`  service, processor time ${ms(least(({ service: time }) => time / 2))}  an import, stored or served`);
  console.log(`  stored, by the clock    ${ms(least(({ stored }) => stored))}  with sending, reading, checks, writing`);
  console.log(
    `  served, by the clock    ${ms(served)}  with activation${served <= GOAL_MS ? '' : `  (more than ${GOAL_MS})`}`,
  );
}
