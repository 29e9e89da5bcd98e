import { expect, test } from 'vitest';
import { createCheckpoint } from '#domain/backtest/checkpoint.js';
import { createRunColumns } from '#domain/backtest/run-file/columns.js';
import { findFirstDifference } from '#domain/backtest/run-file/compare.js';
import type { Run } from '#domain/backtest/run.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { RebalanceSpec } from '#domain/definition/schedule.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/base/refusals.js';
import { createAttributionView } from '#views/attribution.js';
import { fc } from '../../fast-check.js';
import {
  readContent,
  cut,
  expectSameReads,
  extend,
  listFilesAfter,
  openExtended,
  STAMP,
} from '../backtest/extend/extended.js';
import { randomMarket } from '../backtest/random-market.js';
import { randomDocument, run } from '../backtest/random-run.js';
import { OVERLAID_PARENTS, EVERY_OVERLAY, ON_OVERLAYS, createOverlayIndex, addRates } from './overlay-case.js';
import { formatOverview, formatResult, runOverviewJson, runResultJson } from '../backtest/run-texts.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 2);
/** An overlay on another overlay. It begins later than the overlay on which it is based. */
const ON_OVERLAY = [
  { type: 'fee', percent: 1 },
  { source_index_id: 'Z', base_date: '2024-01-03' },
] as const;

const createDocuments = (X: IndexDocument): Readonly<Record<string, IndexDocument>> => ({
  X,
  Y: IndexDocument.parse({ ...X, id: 'Y', name: 'Y', pipeline: { ...X.pipeline, weighting: { type: 'EqualWeight' } } }),
  ...OVERLAID_PARENTS,
  Z: createOverlayIndex({ type: 'currency', to: 'GBP' }, { id: 'Z', name: 'Z', currency: 'GBP' }),
});

/** Returns a run, or undefined if every security has ended, so that there is nothing to compare. */
function tryRun(work: () => Run): Run | undefined {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof Refusal) return undefined;
    throw thrown;
  }
}

/** Extends a run repeatedly. After each extension it compares the run with a run over all sessions. */
function extendAndCompare(
  rows: number,
  runOn: (rows: number) => { readonly market: MarketData; readonly run: () => Run },
) {
  const outcomes: string[] = [];
  const first = tryRun(runOn(rows).run);
  if (first === undefined) return outcomes;
  let files: Uint8Array[] = [createRunColumns(first, { contentHash: 's' })];
  let storedRun = { columns: openExtended(files[0]!), checkpoint: createCheckpoint(first) };
  for (const step of [1, 4]) {
    const { market, run: again } = runOn(rows + step);
    const wholeRun = tryRun(again);
    if (wholeRun === undefined) break;
    const extendedRun = extend(wholeRun.plan, market, storedRun, { datesMax: 2 });
    outcomes.push(typeof extendedRun === 'string' ? extendedRun : 'extended');
    if (typeof extendedRun === 'string') break;
    files = listFilesAfter(files, extendedRun);
    const [columns, expected] = [
      openExtended(extendedRun.columns, files),
      openExtended(createRunColumns(wholeRun, { contentHash: 's' })),
    ];
    expectSameReads(columns, expected);
    expect(readContent(columns)).toEqual(readContent(expected));
    expect(findFirstDifference(columns, expected)).toBeNull();
    const span = { start: null, end: null };
    expect(createAttributionView(columns, span)).toEqual(createAttributionView(expected, span));
    expect(Buffer.from(formatResult(columns, wholeRun.plan, STAMP)).toString()).toBe(
      Buffer.from(runResultJson(wholeRun, STAMP)).toString(),
    );
    expect(Buffer.from(formatOverview(columns, wholeRun.plan)).toString()).toBe(
      Buffer.from(runOverviewJson(wholeRun)).toString(),
    );
    expect(extendedRun.checkpoint).toEqual(createCheckpoint(wholeRun));
    storedRun = { columns, checkpoint: extendedRun.checkpoint };
  }
  return outcomes;
}

/** Counts how many runs of each key were extended. Counts the other runs by the reason why they were not extended. */
function countOutcomes(keyed: Iterable<readonly [key: string, outcomes: readonly string[]]>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [key, outcomes] of keyed)
    for (const outcome of outcomes) {
      const name = outcome === 'extended' ? key : outcome;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  return counts;
}

const checkOnMarkets = (work: (market: MarketData, source: IndexDocument, rows: number) => void): void =>
  fc.assert(
    fc.property(randomMarket, randomDocument, fc.integer({ min: 13, max: 21 }), ({ market }, source, rows) =>
      work(addRates(market), source, rows),
    ),
    { numRuns: RUNS },
  );

const truncateMarket = (market: MarketData, rows: number): MarketData =>
  cut(market, Math.min(market.dates.length, rows));

test('an extended overlay is the whole run bit for bit, of every kind, on its own sessions, again and again', () => {
  const keyedOutcomes: (readonly [string, readonly string[]])[] = [];
  const cases = [...EVERY_OVERLAY, ...ON_OVERLAYS, [ON_OVERLAY[0], { ...ON_OVERLAY[1], currency: 'GBP' }] as const];
  checkOnMarkets((market, source, rows) =>
    cases.forEach(([overlay, rest], k) => {
      const document = createOverlayIndex(overlay, { ...rest, calendar: (k + rows) % 2 === 0 ? 'MAIN' : 'OTHER' });
      const outcomes = extendAndCompare(rows, (to) => {
        const truncatedMarket = truncateMarket(market, to);
        const terms = { documents: createDocuments(source), start: '2024-01-04' };
        return { market: truncatedMarket, run: () => run(truncatedMarket, document, terms) };
      });
      keyedOutcomes.push([overlay.type, outcomes]);
    }),
  );
  const outcomes = countOutcomes(keyedOutcomes);
  for (const [overlay] of EVERY_OVERLAY)
    expect([overlay.type, outcomes.get(overlay.type) ?? 0]).not.toEqual([overlay.type, 0]);
  expect(outcomes.get('overlay') ?? 0).toBeLessThan(RUNS * 3);
});

test('a strategy on an overlay, a benchmark that is one, and parts of other returns are extended bit for bit', () => {
  const keyedOutcomes: (readonly [string, readonly string[]])[] = [];
  const rebalance = RebalanceSpec.parse({ frequency: 'weekly' });
  const strategy = { rebalance, drift_tolerance: 0.01, exposure: 0.6 };
  const blend = EVERY_OVERLAY.at(-1)![0];
  checkOnMarkets((market, source, rows) => {
    const documents = createDocuments(source);
    const { Y } = documents;
    const treatment = {
      ...Y!.pipeline!.treatment,
      dividends: source.pipeline!.treatment.dividends === 'price' ? 'total' : 'price',
    };
    const other = { ...documents, Y: IndexDocument.parse({ ...Y, pipeline: { ...Y!.pipeline, treatment } }) };
    const C = createOverlayIndex(
      { type: 'currency', to: 'GBP' },
      { id: 'C', name: 'C', currency: 'GBP', calendar: 'OTHER' },
    );
    const D = { ...documents['D']!, id: 'O' };
    const cases = {
      strategy: (known: MarketData) => run(known, D, { documents, strategy }),
      follows: (known: MarketData) => run(known, D, { documents, strategy: { ...strategy, rebalance: null } }),
      benchmark: (known: MarketData) =>
        run(known, source, {
          documents: { ...documents, C },
          benchmark: { kind: 'index', id: 'C', price_column: 'CLOSE' },
        }),
      parts: (known: MarketData) => run(known, createOverlayIndex(blend, { calendar: 'OTHER' }), { documents: other }),
      variant: (known: MarketData) =>
        run(known, createOverlayIndex({ ...blend, variant: 'net' }), { documents: other }),
    };
    for (const [key, runOn] of Object.entries(cases)) {
      const outcomes = extendAndCompare(rows, (to) => {
        const truncatedMarket = truncateMarket(market, to);
        return { market: truncatedMarket, run: () => runOn(truncatedMarket) };
      });
      keyedOutcomes.push([key, outcomes]);
    }
  });
  const outcomes = countOutcomes(keyedOutcomes);
  for (const key of ['strategy', 'follows', 'benchmark', 'parts', 'variant'])
    expect([key, outcomes.get(key) ?? 0]).not.toEqual([key, 0]);
});
