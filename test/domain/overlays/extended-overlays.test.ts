import { expect, test } from 'vitest';
import { checkpointOf } from '#domain/backtest/extend/checkpoint.js';
import { runToColumns } from '#domain/backtest/run-file/write.js';
import { firstDifference } from '#domain/backtest/run-file/compare.js';
import type { Run } from '#domain/backtest/run.js';
import { IndexDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusal.js';
import { attributionView } from '#views/attribution-view.js';
import { runOverviewJson, runResultJson, writeOverview } from '#views/run-json.js';
import { fc } from '../../fast-check.js';
import {
  contentOf,
  cut,
  expectSameReads,
  extend,
  filesAfter,
  opened,
  resultAfter,
  resultText,
  STAMP,
  storedResult,
} from '../backtest/extend/extended.js';
import { randomMarket } from '../backtest/random-market.js';
import { randomDocument, run } from '../backtest/random-run.js';
import { BENEATH, EVERY_OVERLAY, ON_OVERLAYS, overlayOn, withRates } from './overlay-case.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 2);
/** On an overlay, which begins later than it. */
const ON_OVERLAY = [
  { type: 'fee', percent: 1 },
  { source_index_id: 'Z', base_date: '2024-01-03' },
] as const;

const documentsOf = (X: IndexDocument): Readonly<Record<string, IndexDocument>> => ({
  X,
  Y: IndexDocument.parse({ ...X, id: 'Y', name: 'Y', pipeline: { ...X.pipeline, weighting: { type: 'EqualWeight' } } }),
  ...Object.fromEntries(Object.entries(BENEATH).map(([id, own]) => [id, { ...own, calendar: 'MAIN' }])),
  Z: overlayOn({ type: 'currency', to: 'GBP' }, { id: 'Z', name: 'Z', currency: 'GBP' }),
});

/** Refused where every name is gone; there is nothing to say of it then. */
function tried(market: MarketData, document: IndexDocument, source: IndexDocument): Run | undefined {
  try {
    return run(market, document, { documents: documentsOf(source), start: '2024-01-04' });
  } catch (thrown) {
    if (thrown instanceof Refusal) return undefined;
    throw thrown;
  }
}

test('an extended overlay is the whole run bit for bit, of every kind, again and again', () => {
  const outcomes = new Map<string, number>();
  const count = (key: string) => outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
  const cases = [
    ...[...EVERY_OVERLAY, ...ON_OVERLAYS].map(([overlay, rest]) => [overlay, { ...rest, calendar: 'MAIN' }] as const),
    [ON_OVERLAY[0], { ...ON_OVERLAY[1], currency: 'GBP' }] as const,
  ];
  fc.assert(
    fc.property(randomMarket, randomDocument, fc.integer({ min: 13, max: 21 }), ({ market: plain }, source, rows) => {
      const market = withRates(plain);
      for (const [overlay, rest] of cases) {
        const document = overlayOn(overlay, rest);
        const first = tried(cut(market, rows), document, source);
        if (first === undefined) continue;
        let files: Uint8Array[] = [runToColumns(first, { contentHash: 's' })];
        let stored = { columns: opened(files[0]!), checkpoint: checkpointOf(first) };
        let result = storedResult(first);
        for (const step of [1, 4]) {
          const grown = cut(market, Math.min(market.dates.length, rows + step));
          const whole = tried(grown, document, source);
          if (whole === undefined) break;
          const extended = extend(whole.plan, grown, stored, { datesMax: 2 });
          count(typeof extended === 'string' ? extended : overlay.type);
          if (typeof extended === 'string') break;
          files = filesAfter(files, extended);
          const [columns, expected] = [
            opened(extended.columns, files),
            opened(runToColumns(whole, { contentHash: 's' })),
          ];
          expectSameReads(columns, expected);
          expect(contentOf(columns)).toEqual(contentOf(expected));
          expect(firstDifference(columns, expected)).toBeNull();
          expect(attributionView(columns, { start: null, end: null })).toEqual(
            attributionView(expected, { start: null, end: null }),
          );
          result = resultAfter(result, extended);
          expect(resultText(result)).toBe(Buffer.from(runResultJson(whole, STAMP)).toString());
          expect(Buffer.from(writeOverview(extended.summary, result.written.level)).toString()).toBe(
            Buffer.from(runOverviewJson(whole)).toString(),
          );
          expect(extended.checkpoint).toEqual(checkpointOf(whole));
          stored = { columns, checkpoint: extended.checkpoint };
        }
      }
    }),
    { numRuns: RUNS },
  );
  for (const [overlay] of EVERY_OVERLAY)
    expect([overlay.type, outcomes.get(overlay.type) ?? 0]).not.toEqual([overlay.type, 0]);
  expect(outcomes.get('overlay') ?? 0).toBeLessThan(RUNS * cases.length);
});

test('an overlay on other sessions than what lies beneath is made whole', () => {
  const { market } = fc.sample(randomMarket, { numRuns: 1, seed: 1 })[0]!;
  const weighting = { type: 'EqualWeight' };
  const pipeline = { weighting };
  const source = IndexDocument.parse({ id: 'X', name: 'X', calendar: 'MAIN', base_date: '2023-12-27', pipeline });
  const document = overlayOn({ type: 'fee', percent: 1 }, { calendar: 'OTHER' });
  const first = tried(cut(market, 15), document, source)!;
  const stored = { columns: opened(runToColumns(first, { contentHash: 's' })), checkpoint: checkpointOf(first) };
  const whole = tried(market, document, source)!;
  expect(extend(whole.plan, market, stored, { datesMax: 2 })).toBe('overlay');
});
