import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { BacktestPlan } from '#domain/backtest/plan.js';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { formatDay } from '#domain/days.js';
import { IndexDocument } from '#domain/documents/index-document.js';
import { RebalanceSpec } from '#domain/documents/rebalance-spec.js';
import { shareMarket, type MarketHandle } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { quarterlyDividends } from '../domain/quarterly-dividends.js';
import { RUN_FILES, type BacktestInput, type BacktestOutput, type ResumableRun } from '#jobs/tasks/runs.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { digestContent } from '#market/content/content.js';
import { backtest } from '#workers/backtest.js';
import { threadMs } from '../thread-time.js';

/**
 * The worker's time for a backtest of 500 names x 20 years, capped, total return, with costs, after one day was added to the store:
 * the market of the new version is opened, what was before is proved to be unchanged, and everything that is stored is written.
 * Beside it the same backtest made whole. Goal: one day <= 20 ms, whether it has a rebalance or not, and whoever enters on it.
 */
const NAMES = 500;
const SESSIONS = 5040;
/** Days there are to add. Only those around rebalances are added one at a time. */
const DAYS = 540;
/** Rebalances whose days are measured, each with the days just before it. */
const REBALANCES = 8;
const HELD = 3;
/** Names that are not held for 20 years, where some are not: as many as there are months to add. */
const JOINING = 25;

setFlagsFromString('--expose-gc');
/** What making the versions of the store left behind is no work of the backtest. */
const collect = runInNewContext('gc') as () => void;

const calendars = openCalendars();
const all = calendars.get('XNYS')!.sessions;
const last = all.findLastIndex((day) => day <= 20_000);
const dates = all.slice(last - SESSIONS - DAYS + 1, last + 1);
const WHOLE = seededMarket();
const folder = mkdtempSync(join(tmpdir(), 'bench-append-'));
let written = 0;

try {
  await measure({ title: 'quarterly', market: WHOLE, plan: planOf({ rebalance: { frequency: 'quarterly' } }) });
  await measure({ title: 'monthly', market: WHOLE, plan: planOf({ rebalance: { frequency: 'monthly' } }) });
  const largest = { id: 'largest', type: 'TopN', params: { field: 'MARKET_CAP', count: NAMES - JOINING } };
  await measure({
    title: 'monthly, where a name enters each time that was never held',
    market: withNewcomers(),
    plan: planOf({ rebalance: { frequency: 'monthly' }, selection: [largest] }),
  });
  const strategy = { rebalance: RebalanceSpec.parse({ frequency: 'monthly' }), drift_tolerance: null, exposure: 0.95 };
  await measure({
    title: 'a strategy that rebalances monthly to a quarterly index',
    market: WHOLE,
    plan: { ...planOf({ rebalance: { frequency: 'quarterly' } }), runId: 'STRATEGY', strategy },
  });
} finally {
  rmSync(folder, { recursive: true });
}

interface Case {
  readonly title: string;
  readonly market: MarketData;
  readonly plan: BacktestPlan;
}

async function measure({ title, market: whole, plan }: Case): Promise<void> {
  const versionOf = (rows: number): Promise<MarketHandle> => versionWith(whole, rows);
  const rebalanced = rebalanceRows(
    (await timed({ market: await versionOf(dates.length), plan, engineVersion: 'bench' })).output,
  );
  const begin = rebalanced[0]! - HELD - 1;
  const first = await versionOf(begin + 1);
  const wholeTimes: number[] = [];
  let stored: BacktestOutput | undefined;
  for (let i = 0; i < 3; i++) {
    const { output, milliseconds } = await timed({ market: first, plan, engineVersion: 'bench' });
    stored = output;
    wholeTimes.push(milliseconds);
  }
  const times: Record<Sort, number[]> = { held: [], rebalanced: [], many: [] };
  const others: string[] = [];
  let bytes = 0;
  let earlier: readonly string[] = [];
  const add = async (row: number, sort: Sort): Promise<void> => {
    const market = await versionOf(row + 1);
    const run = storedFiles(stored!, earlier);
    const { output, milliseconds } = await timed({ market, plan, engineVersion: 'bench', stored: run });
    if (output.extendedFrom === null) others.push(`${output.fullRunReason} in ${milliseconds.toFixed(0)} ms`);
    else times[sort].push(milliseconds);
    bytes = [output.result, output.snapshots.text, output.overview, output.columns, output.checkpoint].reduce(
      (sum, file) => sum + (file?.bytes ?? 0),
      0,
    );
    stored = output;
    earlier = run.fileNames.slice(0, output.earlierFiles);
  };
  for (const row of rebalanced) {
    if (row - HELD - 1 > begin) await add(row - HELD - 1, 'many');
    for (let day = row - HELD; day < row; day++) await add(day, 'held');
    await add(row, 'rebalanced');
  }
  const least = Math.min(...wholeTimes).toFixed(0);
  console.log(
    `${NAMES} names x ${begin + 1} sessions, ${title}: ${(bytes / 1e6).toFixed(1)} MB written for one day, the whole in ${least} ms of the thread${others.length > 0 ? `; not extended: ${others.join(', ')}` : ''}`,
  );
  console.log(`  a day without a rebalance        ${sentence(times.held)}`);
  console.log(`  a day with one                   ${sentence(times.rebalanced)}`);
  console.log(
    `  the ${String(rebalanced[1]! - rebalanced[0]! - HELD - 1).padStart(2)} days between, at once     ${sentence(times.many)}`,
  );
}

/** Days by what happened on them, and the days between added at once. */
type Sort = 'held' | 'rebalanced' | 'many';

function sentence(times: readonly number[]): string {
  if (times.length === 0) return 'were not among them';
  const sorted = times.toSorted((a, b) => a - b);
  const [least, median, most] = [sorted[0]!, sorted[sorted.length >> 1]!, sorted.at(-1)!].map((value) =>
    value.toFixed(1),
  );
  return `in ${least} ms of the thread at least, ${median} in the median, ${most} at most, of ${times.length}`;
}

/** Rows of the market on which a run rebalances after the first 20 years: as many as are measured. */
function rebalanceRows({ columns }: BacktestOutput): number[] {
  const bytes = new Uint8Array(readFileSync(join(folder, columns.name)));
  const { rebalances } = openColumns((from, to) => bytes.slice(from, to)).header;
  return rebalances
    .map(({ at }) => at)
    .filter((at) => at > SESSIONS + HELD)
    .slice(0, REBALANCES);
}

/** Files of a stored run as the task wrote them a moment ago, with the earlier ones of its columns: none is read to be compared. */
function storedFiles({ columns, checkpoint, result }: BacktestOutput, earlier: readonly string[]): ResumableRun {
  const path = (name: string): string => join(folder, name);
  return {
    columns: path(columns.name),
    checkpoint: { path: path(checkpoint!.name), sha256: checkpoint!.sha256 },
    result: path(result.name),
    checked: [],
    fileNames: [...earlier, columns.name],
  };
}

/** Names that no file has. */
function outputsNow(): BacktestInput['outputs'] {
  const serial = written++;
  const names = Object.fromEntries(
    RUN_FILES.map((file) => [file, `${file}-${serial}`]),
  ) as BacktestInput['outputs']['names']; // One for each.
  return { destination: { kind: 'folder', folder, lowWaterMark: {} }, names };
}

async function timed(
  input: Omit<BacktestInput, 'outputs'>,
): Promise<{ readonly output: BacktestOutput; readonly milliseconds: number }> {
  collect();
  const begin = threadMs();
  const output = await backtest({ ...input, outputs: outputsNow() }, { report: () => {} });
  return { output, milliseconds: threadMs() - begin };
}

function planOf({
  rebalance,
  selection = [],
}: {
  readonly rebalance: object;
  readonly selection?: readonly object[];
}): BacktestPlan {
  const document = IndexDocument.parse({
    id: 'BENCH',
    name: 'Bench',
    calendar: 'XNYS',
    base_date: formatDay(dates[0]!),
    rebalance,
    pipeline: { selection, treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight', cap: 0.02 } },
  });
  const request = { benchmark: null, start: null, end: null, initial_capital: 1_000_000, transaction_cost_bps: 10 };
  return { runId: 'BENCH', name: 'Bench', indexId: 'BENCH', documents: { BENCH: document }, request };
}

/** A version of the store with so many sessions, as a load leaves it. */
async function versionWith(whole: MarketData, rows: number): Promise<MarketHandle> {
  const lastDay = dates[rows - 1]!;
  const market: MarketData = {
    ...whole,
    dates: dates.slice(0, rows),
    fields: new Map([...whole.fields].map(([name, panel]) => [name, panel.subarray(0, rows * NAMES)])),
    actions: whole.actions.filter(({ exDay }) => exDay <= lastDay),
  };
  const { hash, digests } = await digestContent(market);
  return { ...shareMarket({ ...market, contentHash: hash }), digests };
}

/** The same with names that are the smallest for 20 years, of which one after the other becomes the largest then, a month apart. */
function withNewcomers(): MarketData {
  const shares = WHOLE.fields.get('SHARES_OUTSTANDING')!.slice();
  for (let k = 0; k < JOINING; k++) {
    const column = Math.floor(((k + 0.5) * NAMES) / JOINING);
    for (let t = 0; t < dates.length; t++) shares[t * NAMES + column] = t < SESSIONS + 21 * (k + 1) ? 1 : 1e9;
  }
  return { ...WHOLE, fields: new Map([...WHOLE.fields, ['SHARES_OUTSTANDING', shares]]) };
}

/** Random walks with a dividend a quarter; the same on every run. */
function seededMarket(): MarketData {
  let state = 0x9e3779b9;
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const identifiers = Array.from({ length: NAMES }, (_, i) => `N${String(i).padStart(5, '0')}`);
  const price = Float64Array.from(identifiers, () => 20 + 180 * random());
  const shares = Float64Array.from(identifiers, () => Math.round(1e6 * Math.exp(4 * random())));
  const close = new Float64Array(dates.length * NAMES);
  const outstanding = new Float64Array(dates.length * NAMES);
  for (let t = 0; t < dates.length; t++) {
    for (let i = 0; i < NAMES; i++) {
      price[i]! *= 1 + 0.0003 + 0.05 * (random() - 0.5);
      close[t * NAMES + i] = Math.max(1, Math.round(price[i]! * 100) / 100);
      outstanding[t * NAMES + i] = shares[i]!;
    }
  }
  const actions = quarterlyDividends(identifiers, dates);
  const rows = new Map(
    identifiers.map((identifier, i) => [identifier, [{ validFrom: null, values: [identifier, `S${i % 11}`, 'USD'] }]]),
  );
  return {
    datasetId: 'bench',
    contentHash: 'bench',
    adjustment: 'none',
    identifiers,
    dates,
    fields: new Map([
      ['CLOSE', close],
      ['SHARES_OUTSTANDING', outstanding],
    ]),
    reference: { columns: ['NAME', 'SECTOR', 'CURRENCY'], rows },
    actions,
    universes: [],
  };
}
