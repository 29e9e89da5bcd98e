import { createHash } from 'node:crypto';
import { indexDecider } from '#domain/backtest/index-decider.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { runToColumns } from '#domain/backtest/run-file/write.js';
import { keptMemory } from '#base/memory/kept-memory.js';
import { IndexDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { median } from '#domain/numbers/order-statistics.js';
import { formatDay } from '#domain/time/days.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { threadMs } from '../../thread-time.js';
import { seededMarket } from '../seeded-market.js';

/**
 * Backtests of 500 securities x 5,033 sessions, quarterly and weighted by float-adjusted market value, whose share counts
 * change on every session: an index that follows them on their dates beside one that takes them at its reviews, in turns,
 * thread time of the whole task with columns and their hash. Goal: the median ratio of the pairs is at most 1.5. The case in
 * which every security changes on every session, so that the record of the changes is six times as large as the weights,
 * has no goal.
 */
const SIZE = { names: 500, sessions: 5033 };
const PAIRS = 9;
const WARM_UP = 2;
const GOAL = 1.5;

interface Case {
  readonly name: string;
  /** Securities whose count changes on a session. */
  readonly changing: number;
  /** Where the store has FREE_FLOAT. */
  readonly float?: 'field' | 'reference';
  readonly goal: number;
}

const CASES: readonly Case[] = [
  { name: 'one security', changing: 1, goal: GOAL },
  { name: '8 securities, each once a quarter', changing: 8, goal: GOAL },
  { name: '24 securities, each once a month', changing: 24, goal: GOAL },
  { name: '8 securities, float of each session', changing: 8, float: 'field', goal: GOAL },
  { name: '8 securities, float as reference data', changing: 8, float: 'reference', goal: GOAL },
  { name: 'all 500 securities', changing: SIZE.names, goal: Infinity },
];

const calendars = openCalendars();
const seeded = seededMarket(calendars, SIZE);

for (const { name, goal, ...terms } of CASES) {
  const market = withChanges(seeded, terms);
  const ratios: number[] = [];
  const times = { plain: [] as number[], following: [] as number[] };
  let adopted = 0;
  for (let pair = -WARM_UP; pair < PAIRS; pair++) {
    const plain = timed(market, 'review');
    const following = timed(market, 'effective');
    adopted = following.adopted;
    if (pair < 0) continue;
    ratios.push(following.ms / plain.ms);
    times.plain.push(plain.ms);
    times.following.push(following.ms);
  }
  const ratio = median(ratios);
  const [fastest, slowest] = [Math.min(...ratios), Math.max(...ratios)].map((each) => each.toFixed(2));
  console.log(
    `${name}: ${adopted} changes, ${median(times.following).toFixed(0)} ms, at reviews ${median(times.plain).toFixed(0)} ms, ratio ${ratio.toFixed(2)} (${fastest} to ${slowest}), goal ${goal}`,
  );
  if (ratio > goal) process.exitCode = 1;
}

/** The same prices with counts that change by up to 1 % for some securities on each session. */
function withChanges(market: MarketData, { changing, float }: Pick<Case, 'changing' | 'float'>): MarketData {
  const { names, sessions } = SIZE;
  const shares = market.fields.get('SHARES_OUTSTANDING')!.slice();
  let next = 0;
  for (let t = 1; t < sessions; t++) {
    shares.copyWithin(t * names, (t - 1) * names, t * names);
    for (let n = 0; n < changing; n++) shares[t * names + (next++ % names)]! *= 1 + 0.01 * Math.sin(17 * next);
  }
  const fields = new Map([...market.fields, ['SHARES_OUTSTANDING', shares]]);
  if (float === 'field') fields.set('FREE_FLOAT', new Float64Array(names * sessions).fill(0.8));
  const stated = [{ validFrom: market.dates[0]!, values: [0.8] }];
  return {
    ...market,
    contentHash: `bench-${changing}-${float}`,
    fields,
    ...(float === 'reference'
      ? { reference: { columns: ['FREE_FLOAT'], rows: new Map(market.identifiers.map((name) => [name, stated])) } }
      : {}),
  };
}

function timed(market: MarketData, shareChanges: 'review' | 'effective'): { readonly ms: number; readonly adopted: number } {
  const document = IndexDocument.parse({
    id: 'BENCH',
    name: 'Bench',
    calendar: 'XNYS',
    base_date: formatDay(market.dates[0]!),
    rebalance: { frequency: 'quarterly' },
    events: { share_changes: shareChanges, threshold: 0 },
    pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight' } },
  });
  const begin = threadMs();
  const run = runBacktest({
    market,
    calendars,
    createDecider: indexDecider,
    memory: keptMemory,
    report: () => {},
    plan: {
      runId: 'BENCH',
      name: 'Bench',
      indexId: 'BENCH',
      documents: { BENCH: document },
      request: { benchmark: null, start: null, end: null, initial_capital: 1_000_000, transaction_cost_bps: 0 },
    },
  });
  const columns = runToColumns(run, { contentHash: '', inPlace: true });
  createHash('sha256').update(columns).digest('hex');
  return { ms: threadMs() - begin, adopted: run.index.book.shareChanges?.session.length ?? 0 };
}
