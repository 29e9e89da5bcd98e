import { expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/base/refusals.js';
import { createAttributionView, createGroupsView } from '#views/attribution.js';
import { createReconcileView } from '#views/reconcile.js';
import { fc } from '../../fast-check.js';
import { buildMarket } from '../backtest/market-builder.js';
import { randomMarket } from '../backtest/random-market.js';
import { randomDocument, run, createColumns } from '../backtest/random-run.js';
import { OVERLAID_PARENTS, EVERY_OVERLAY, ON_OVERLAYS, createOverlayIndex, addRates } from './overlay-case.js';
import { createDocument } from '../index-document.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 3);

/** Returns a second index on the same securities, with equal weights and another return variant. */
const createSecondIndex = (document: IndexDocument): IndexDocument =>
  IndexDocument.parse({
    ...document,
    id: 'Y',
    name: 'Y',
    pipeline: {
      ...document.pipeline,
      treatment: {
        ...document.pipeline!.treatment,
        dividends: document.pipeline!.treatment.dividends === 'total' ? 'price' : 'total',
      },
      weighting: { type: 'EqualWeight' },
    },
  });

/** Returns a run, or undefined if every security has ended, so that there is nothing to compare. */
function tryRun(market: MarketData, document: IndexDocument, source: IndexDocument): Run | undefined {
  try {
    return run(market, document, { documents: { X: source, Y: createSecondIndex(source), ...OVERLAID_PARENTS } });
  } catch (thrown) {
    if (thrown instanceof Refusal) return undefined;
    throw thrown;
  }
}

function checkOnMarkets(law: (market: MarketData, source: IndexDocument) => void): void {
  fc.assert(
    fc.property(randomMarket, randomDocument, ({ market }, source) => law(addRates(market), source)),
    { numRuns: RUNS },
  );
}

const listNoFiles = () => [];

test('levels, weights and own parts of every overlay reconcile, by name and by group', () => {
  let runs = 0;
  checkOnMarkets((market, source) => {
    for (const [overlay, rest] of [...EVERY_OVERLAY, ...ON_OVERLAYS]) {
      const result = tryRun(market, createOverlayIndex(overlay, rest), source);
      if (result === undefined) continue;
      runs++;
      const columns = createColumns(result);
      expect(createReconcileView(columns, listNoFiles).checks.filter(({ holds }) => !holds)).toEqual([]);
      const attribution = createAttributionView(columns, { start: null, end: null });
      expect(Math.abs(attribution.residual)).toBeLessThan(1e-10);
      const groups = createGroupsView(columns, {
        window: { start: null, end: null },
        by: 'INITIAL',
        findGroup: (name) => name.slice(0, 1),
        benchmark: null,
      });
      expect(Math.abs(groups.residual)).toBeLessThan(1e-10);
    }
  });
  expect(runs).toBeGreaterThan(RUNS);
});

test('what comes later changes no bit of a level or a weight', () => {
  checkOnMarkets((market, source) => {
    for (const [overlay, rest] of [...EVERY_OVERLAY, ...ON_OVERLAYS]) {
      const document = createOverlayIndex(overlay, rest);
      const wholeRun = tryRun(market, document, source);
      if (wholeRun === undefined) continue;
      const days = wholeRun.index.days;
      const end = days.length - 4;
      if (end < 3) continue;
      const cut = tryRun(cutAfter(market, days[end]!), document, source);
      if (cut === undefined) continue;
      const { book } = cut.index;
      expect([...book.value]).toEqual([...wholeRun.index.book.value.subarray(0, book.length)]);
      const last = book.length - 1; // the last session before the end on which a security has a price
      expect(listNamedWeights(cut, last)).toEqual(listNamedWeights(wholeRun, last));
    }
  });
});

/** Returns the market as known at the close of a day. */
function cutAfter(market: MarketData, day: number): MarketData {
  const rows = market.dates.findIndex((date) => date > day);
  const width = market.identifiers.length;
  return {
    ...market,
    contentHash: `${market.contentHash}-${day}`,
    dates: market.dates.slice(0, rows),
    fields: new Map([...market.fields].map(([name, panel]) => [name, panel.slice(0, rows * width)])),
    actions: market.actions.filter(({ exDay }) => exDay <= day),
    series: new Map(
      [...market.series!].map(([id, one]) => {
        const knownCount = one.days.filter((date) => date <= day).length;
        return [id, { ...one, days: one.days.slice(0, knownCount), closes: one.closes.slice(0, knownCount) }];
      }),
    ),
  };
}

function listNamedWeights({ index: { book } }: Run, at: number): Map<string, number> {
  const { columns, weights, sm } = book;
  const row = weights.subarray(at * columns.length, (at + 1) * columns.length);
  return new Map(
    [...columns].flatMap((column, slot) => (row[slot] === 0 ? [] : [[sm.identifiers[column]!, row[slot]!] as const])),
  );
}

/** Computes the largest relative difference of two series. */
function measureDistance(a: Float64Array, b: Float64Array): number {
  expect(a.length).toBe(b.length);
  return a.reduce((largest, value, t) => Math.max(largest, Math.abs(value / b[t]! - 1)), 0);
}

test('an overlay that does nothing is the index, and one that hedges nothing is the index converted', () => {
  checkOnMarkets((market, source) => {
    const rates = { domestic: 'DOMESTIC', foreign: 'FOREIGN' };
    const computeLevels = (overlay: Readonly<Record<string, unknown>>, rest = {}) =>
      tryRun(market, createOverlayIndex(overlay, rest), source)?.index.book.value;
    const index = tryRun(market, source, source)?.index.book.value;
    if (index === undefined) return;
    for (const plainOverlay of [
      { type: 'leverage', factor: 1, financing: 'DOMESTIC', spread_bps: 100 },
      { type: 'blend', parts: [{ index_id: 'X', weight: 1 }], rebalance: { frequency: 'monthly' } },
      { type: 'fee', percent: 0 },
      { type: 'decrement', percent: 0 },
      { type: 'currency', to: 'USD' },
      { type: 'risk_control', target: 2, sessions: 5, max_leverage: 1 },
    ]) {
      const level = computeLevels(plainOverlay);
      if (plainOverlay.type === 'risk_control') expect(level!.length).toBe(index.length);
      else expect(measureDistance(level!, index)).toBeLessThan(1e-12);
    }
    const convertedLevels = computeLevels({ type: 'currency', to: 'GBP' }, { currency: 'GBP' })!;
    for (const adjust of ['monthly', 'daily']) {
      const unhedgedLevels = computeLevels(
        { type: 'currency_hedged', to: 'GBP', ratio: 0, rates, adjust },
        { currency: 'GBP' },
      )!;
      expect(measureDistance(unhedgedLevels, convertedLevels)).toBeLessThan(1e-12);
    }
  });
});

test('the daily change of a leveraged part is no trade of a blend', () => {
  const dates = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'];
  const market = buildMarket({ dates, close: { A: [100, 110, 104, 120], B: [50, 49, 53, 51] } });
  const base = { base_date: dates[0] };
  const source = createDocument({
    ...base,
    rebalance: { frequency: 'none' },
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  const D = createOverlayIndex({ type: 'leverage', factor: 2 }, { ...base, id: 'D', name: 'D' });
  const parts = ['X', 'D'].map((index_id) => ({ index_id, weight: 0.5 }));
  const blend = createOverlayIndex({ type: 'blend', parts, rebalance: { frequency: 'none' } }, base);
  const { trades } = run(market, blend, { documents: { X: source, D } });
  expect(new Set(trades.at.subarray(0, trades.count))).toEqual(new Set([0]));
  const F = createOverlayIndex({ type: 'fee', percent: 1 }, { ...base, source_index_id: 'D', id: 'F', name: 'F' });
  const bothParts = ['D', 'F'].map((index_id) => ({ index_id, weight: 0.5 }));
  const bothIndex = createOverlayIndex({ type: 'blend', parts: bothParts }, base);
  const view = createAttributionView(createColumns(run(market, bothIndex, { documents: { X: source, D, F } })), {
    start: null,
    end: null,
  });
  expect(view.overlay_parts!.map(({ index_id, part }) => [index_id, part])).toEqual([
    ['D', 'financing'],
    ['F', 'fee'],
  ]);
  expect(Math.abs(view.residual)).toBeLessThan(1e-12);
});
