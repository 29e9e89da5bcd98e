import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One load, as the process tells that serves it. Times in ms, memory in MiB. */
export interface LoadReport {
  readonly ms: number;
  /** Processor time of the process with those below it. */
  readonly processor: number;
  /** Longest time the event loop was away. */
  readonly stall: number;
  /** Most that its thread worked between two turns. */
  readonly work: number;
  readonly panels: number;
  /** Most memory in place so far. */
  readonly peak: number;
  readonly rows: number;
}

/** DuckDB alone, from an open database on. */
export interface AloneReport {
  readonly ms: number;
  readonly processor: number;
  readonly peak: number;
}

/**
 * From files to panels that can be served, with every check and the content hash, and beside it DuckDB alone filling the
 * same panels without any. Rows are those of real stores: 500 names x 5040 days and 3000 names x 2520 days, six columns.
 * Each round has processes of their own that load the file again and again, and one of DuckDB alone of the same niceness. The first load
 * of a process in which nothing waits to read stands beside that process as a whole, for both start what they need; that of a service
 * which has started, and the later ones, stand beside what it does once its database is open. A ratio is the median of those of the
 * rounds, whose processes follow each other: other work on the machine slows both. Of later loads there is also that of processor time.
 */
const ROUNDS = 5;
const LOADS = 3;

/** What the process that serves may take beside panels, MiB. */
const BESIDE_PANELS_MAX = 200;

/** Longest time its event loop may be away, ms. */
const STALL_MAX = 50;

/** Most of the time of DuckDB alone. */
const RATIO_MAX = 1.3;

const SIZES = [
  { name: '2.5 million rows', names: 500, days: 5040 },
  { name: '7.5 million rows', names: 3000, days: 2520 },
];

const folder = await mkdtemp(join(tmpdir(), 'divisor-bench-'));
try {
  for (const size of SIZES) {
    const files = await write(size);
    for (const file of files) await measure(size.name, file);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function write({ names, days, name }: (typeof SIZES)[number]): Promise<string[]> {
  const targets = [
    ['zstd', 'market.parquet', "FORMAT parquet, CODEC 'zstd'"],
    ['snappy', 'market.parquet', "FORMAT parquet, CODEC 'snappy'"],
    ['csv', 'market.csv', 'FORMAT csv'],
  ] as const;
  const written: string[] = [];
  const copies: string[] = [];
  for (const [kind, file, options] of targets) {
    const place = join(folder, `${name} ${kind}`);
    await mkdir(place);
    copies.push(`COPY bars TO '${join(place, file)}' (${options})`);
    written.push(join(place, file));
  }
  const walk = (offset: number) =>
    `round(50 + ${offset} + 10 * sin(t / 100.0 + n) + (hash(t * 100003 + n + ${offset}) % 1000) / 1000.0, 4)`;
  const bars = `
    CREATE TABLE bars AS SELECT DATE '2000-01-03' + t::INT AS date, 'ID' || lpad(n::VARCHAR, 5, '0') AS identifier, ${walk(0)} AS OPEN, ${walk(1)} AS HIGH, ${walk(-1)} AS LOW,
      CASE WHEN hash(t * 7 + n) % 333 = 0 THEN NULL ELSE ${walk(0.5)} END AS CLOSE, ${walk(0.25)} AS VWAP, (hash(t + n) % 1000000)::BIGINT AS VOLUME
    FROM range(${days}) a(t), range(${names}) b(n) ORDER BY t, n`;
  const script = `
    const { DuckDBInstance } = require('@duckdb/node-api');
    (async () => {
      const connection = await (await DuckDBInstance.create(':memory:')).connect();
      for (const statement of ${JSON.stringify([bars, ...copies])}) await connection.run(statement);
    })();`;
  execFileSync(process.execPath, ['-e', script]);
  return written;
}

async function measure(size: string, file: string): Promise<void> {
  const cold: LoadReport[] = [];
  const prepared: LoadReport[][] = [];
  const alone: (AloneReport & { readonly whole: number })[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    cold.push(...(await reportsOf<LoadReport>('load-store.js', [dirname(file), '1'])));
    const start = performance.now();
    const [report] = await reportsOf<AloneReport>('duckdb-alone.js', [file]);
    alone.push({ ...report!, whole: performance.now() - start });
    prepared.push(await reportsOf<LoadReport>('load-store.js', [dirname(file), String(LOADS), 'prepared']));
  }
  const firsts = [...cold, ...prepared.map(([first]) => first!)];
  const others = prepared.flatMap((round) => round.slice(1));
  const { panels, rows } = firsts[0]!;
  const megabytes = (await stat(file)).size / 1e6;
  const later = prepared.map((round) => round.slice(1).map(({ ms }) => ms));
  const speed = rows / timesOf(later.flat()).median / 1000;
  console.log(`${size} ${file.split(' ').at(-1)!}, ${megabytes.toFixed(0)} MB: ${speed.toFixed(1)} M rows/s`);
  const inside = alone.map(({ ms }) => ms);
  const whole = alone.map((one) => one.whole);
  compare(
    'nothing waits',
    cold.map(({ ms }) => [ms]),
    whole,
  );
  compare(
    'first load',
    prepared.map(([first]) => [first!.ms]),
    inside,
  );
  compare('later loads', later, inside);
  compare(
    'processor',
    prepared.map((round) => round.slice(1).map(({ processor }) => processor)),
    alone.map(({ processor }) => processor),
  );
  const reports = [...cold, ...prepared.flat()];
  const beside = Math.max(...firsts.map(({ peak }) => peak)) - panels;
  const besideTwo = Math.max(...others.map(({ peak }) => peak)) - 2 * panels;
  console.log(
    `  peak RSS ${beside.toFixed(0)} MiB beside panels of ${panels.toFixed(0)} MiB, ${besideTwo.toFixed(0)} MiB beside two versions of them${judged(Math.max(beside, besideTwo), BESIDE_PANELS_MAX)}`,
  );
  const stalls = reports.map(({ stall }) => stall).toSorted((a, b) => a - b);
  const work = Math.max(...reports.map((report) => report.work));
  console.log(
    `  event loop away at most ${stalls.at(-1)!.toFixed(0)} ms (median of loads ${stalls[stalls.length >> 1]!.toFixed(0)}), of which it worked at most ${work.toFixed(0)} ms${judged(stalls.at(-1)!, STALL_MAX)}`,
  );
}

/** @param ours times of each round, beside the one of DuckDB alone in it */
function compare(what: string, ours: readonly (readonly number[])[], alone: readonly number[]): void {
  const timesText = ({ min, median }: Times) => `min ${min.toFixed(0)} ms  median ${median.toFixed(0)} ms`;
  const ratio = timesOf(ours.flatMap((times, round) => times.map((ms) => ms / alone[round]!))).median;
  console.log(
    `  ${what.padEnd(13)} ${timesText(timesOf(ours.flat()))}  DuckDB alone ${timesText(timesOf(alone))}  ${ratio.toFixed(2)}x${judged(ratio, RATIO_MAX)}`,
  );
}

function judged(value: number, limit: number): string {
  return value <= limit ? '' : `  (more than ${limit})`;
}

interface Times {
  readonly min: number;
  readonly median: number;
}

function timesOf(times: readonly number[]): Times {
  const sorted = times.toSorted((a, b) => a - b);
  return { min: sorted[0]!, median: sorted[sorted.length >> 1]! };
}

/** What a script beside this one reports in a process of its own. */
async function reportsOf<T>(script: string, args: readonly string[]): Promise<T[]> {
  const reports: T[] = [];
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), args);
  child.on('message', (report) => reports.push(report as T)); // the only messages of the script
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) throw new Error(`${script} ended with ${status}`);
  return reports;
}
