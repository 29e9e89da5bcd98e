import { createHash } from 'node:crypto';
import { allocateRetainedMemory } from '#base/memory.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { createRunColumns } from '#domain/backtest/run-file/columns.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { computeMedian } from '#domain/base/numbers.js';
import { formatDay } from '#domain/base/time.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { measureThreadMs } from '../../measure.js';
import { createSeededMarket } from '../seeded-market.js';

/**
 * Measures the cost of index mathematics in backtests of 500 securities x 5,033 sessions by market value, total return.
 * Each backtest is paired with a backtest without the measured setting. The bench prints the thread time of the whole
 * task, including columns and their hash, and the median ratio of the pairs.
 *
 * Dividends that are reinvested in the whole index are compared with the settings of 0.2.0: goal 1.1. Share counts that
 * follow effective dates, with changes on every session, are compared with share counts that change at reviews: goal
 * 1.5. If every security changes on every session, the record of the changes is six times as large as the weights. This
 * case has no goal.
 */
const SIZE = { names: 500, sessions: 5033 };
const PAIRS = 11;
const WARM_UP = 3;

/** Members of an index document. */
interface Settings {
  readonly events?: object;
  readonly treatment?: object;
}

interface Case {
  readonly name: string;
  readonly goal: number;
  readonly frequency: 'quarterly' | 'monthly';
  readonly market: () => MarketData;
  readonly measured: Settings;
  readonly plain: Settings;
}

const calendars = openCalendars();
const seededMarket = createSeededMarket(calendars, SIZE);

/** Settings of version 0.2.0. */
const OLDER_SETTINGS = { reinvestment: 'constituent', special_dividends: 'constituent', rights: 'constituent' };
const createConventionsCase = (frequency: Case['frequency']): Case => ({
  name: `conventions of index providers, ${frequency}`,
  goal: 1.1,
  frequency,
  market: () => seededMarket,
  measured: {},
  plain: { treatment: OLDER_SETTINGS },
});

interface ShareChanges {
  /** Number of securities whose share count changes on a session. */
  readonly changing: number;
  /** Source of FREE_FLOAT in the store. */
  readonly float?: 'field' | 'reference';
}
const createChangeCase = (name: string, terms: ShareChanges, goal = 1.5): Case => ({
  name: `share changes every session, ${name}`,
  goal,
  frequency: 'quarterly',
  market: () => addChanges(seededMarket, terms),
  measured: { events: { share_changes: 'effective', threshold: 0 } },
  plain: {},
});

const CASES: readonly Case[] = [
  createConventionsCase('quarterly'),
  createConventionsCase('monthly'),
  createChangeCase('of one security', { changing: 1 }),
  createChangeCase('of 8, each once a quarter', { changing: 8 }),
  createChangeCase('of 24, each once a month', { changing: 24 }),
  createChangeCase('of 8, free float as a field', { changing: 8, float: 'field' }),
  createChangeCase('of 8, free float as reference data', { changing: 8, float: 'reference' }),
  createChangeCase('of all 500', { changing: SIZE.names }, Infinity),
];

for (const measuredCase of CASES) {
  const market = measuredCase.market();
  const [times, plainTimes] = [[] as number[], [] as number[]];
  for (let pair = -WARM_UP; pair < PAIRS; pair++) {
    const before = measureTime(market, measuredCase, measuredCase.plain);
    const after = measureTime(market, measuredCase, measuredCase.measured);
    if (pair < 0) continue;
    plainTimes.push(before);
    times.push(after);
  }
  const ratios = times.map((time, i) => time / plainTimes[i]!);
  const [lowest, highest] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2));
  console.log(
    `${measuredCase.name}: ${computeMedian(times).toFixed(0)} ms, without ${computeMedian(plainTimes).toFixed(0)} ms, ratio ${computeMedian(ratios).toFixed(2)} (${lowest} to ${highest}), goal ${measuredCase.goal}`,
  );
  if (computeMedian(ratios) > measuredCase.goal) process.exitCode = 1;
}

/** Returns the market with share counts that change by up to 1 % for some securities on each session. */
function addChanges(market: MarketData, { changing, float }: ShareChanges): MarketData {
  const { names, sessions } = SIZE;
  const shares = market.fields.get('SHARES_OUTSTANDING')!.slice();
  let next = 0;
  for (let t = 1; t < sessions; t++) {
    shares.copyWithin(t * names, (t - 1) * names, t * names);
    for (let n = 0; n < changing; n++) shares[t * names + (next++ % names)]! *= 1 + 0.01 * Math.sin(17 * next);
  }
  const fields = new Map([...market.fields, ['SHARES_OUTSTANDING', shares]]);
  if (float === 'field') fields.set('FREE_FLOAT', new Float64Array(names * sessions).fill(0.8));
  const floats = [{ validFrom: null, values: [0.8] }];
  return {
    ...market,
    contentHash: `bench-${changing}-${float}`,
    fields,
    ...(float === 'reference'
      ? { reference: { columns: ['FREE_FLOAT'], rows: new Map(market.identifiers.map((name) => [name, floats])) } }
      : {}),
  };
}

function measureTime(market: MarketData, { frequency }: Case, { events = {}, treatment = {} }: Settings): number {
  const document = IndexDocument.parse({
    id: 'BENCH',
    name: 'Bench',
    calendar: 'XNYS',
    base_date: formatDay(market.dates[0]!),
    rebalance: { frequency },
    events,
    pipeline: { treatment: { dividends: 'total', ...treatment }, weighting: { type: 'MarketCapWeight' } },
  });
  const begin = measureThreadMs();
  const run = runBacktest({
    market,
    calendars,
    createDecider: indexDecider,
    memory: allocateRetainedMemory,
    report: () => {},
    plan: {
      runId: 'BENCH',
      name: 'Bench',
      indexId: 'BENCH',
      documents: { BENCH: document },
      request: { benchmark: null, start: null, end: null, initial_capital: 1_000_000, transaction_cost_bps: 10 },
    },
  });
  const columns = createRunColumns(run, { contentHash: '', inPlace: true });
  createHash('sha256').update(columns).digest('hex');
  return measureThreadMs() - begin;
}
