import { readFileSync } from 'node:fs';
import { fc } from '../../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { createCheckpoint } from '#domain/backtest/checkpoint.js';
import { FULL_RUN_REASON_NAMES } from '#domain/definition/runs.js';
import { createRunColumns } from '#domain/backtest/run-file/columns.js';
import type { Run } from '#domain/backtest/run.js';
import { Refusal } from '#domain/base/refusals.js';
import type { StrategyTerms } from '#domain/definition/backtest-plan.js';
import { findFirstDifference } from '#domain/backtest/run-file/compare.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { RebalanceSpec } from '#domain/definition/schedule.js';
import {
  type ContentDigests,
  type CorporateAction,
  type MarketData,
  openMarketSince,
  shareMarket,
} from '#domain/market/market-data.js';
import { comparePrefixes, createPrefix, digestContent, findSettledDay } from '#market/content/content-hash.js';
import {
  cut,
  expectSameReads,
  extend,
  listFilesAfter,
  openExtended,
  STAMP,
  readContent,
  type StoredRun,
} from './extended.js';
import { randomMarket } from '../random-market.js';
import { randomDecider, randomDocument, randomRequest, tryRun } from '../random-run.js';
import { formatOverview, formatResult, runOverviewJson, runResultJson } from '../run-texts.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 15);
/** Returns a run, or undefined if the random market or benchmark was refused. */
function runOf(...runTerms: Parameters<typeof tryRun>): Run | undefined {
  try {
    return tryRun(...runTerms);
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.code === 'NO_COMMON_DATES') return undefined;
    throw refusal;
  }
}

/** A second index on the market. It follows the other calendar. */
const BENCHMARK = IndexDocument.parse({
  id: 'Y',
  name: 'Y',
  calendar: 'OTHER',
  base_date: '2023-12-28',
  rebalance: { frequency: 'weekly' },
  pipeline: { treatment: { dividends: 'net', withholding_tax: 0.3 }, weighting: { type: 'EqualWeight' } },
});

/** Random terms of a run: its benchmark, and the terms of the strategy that follows the index. */
const randomTerms = fc.record({
  benchmark: fc.constantFrom(
    null,
    { id: 'Y', kind: 'index', price_column: 'CLOSE' } as const,
    { id: 'HH', kind: 'identifier', price_column: 'CLOSE' } as const,
    { id: 'DD', kind: 'identifier', price_column: 'SHARES_OUTSTANDING' } as const,
  ),
  strategy: fc.constantFrom<StrategyTerms | undefined>(
    undefined,
    undefined,
    { rebalance: null, drift_tolerance: null, exposure: 1 },
    { rebalance: null, drift_tolerance: 0.02, exposure: 0.9 },
    { rebalance: RebalanceSpec.parse({ frequency: 'monthly' }), drift_tolerance: null, exposure: 1 },
    { rebalance: RebalanceSpec.parse({ frequency: 'weekly' }), drift_tolerance: 0.01, exposure: 0.7 },
    { rebalance: RebalanceSpec.parse({ frequency: 'daily' }), drift_tolerance: null, exposure: 1 },
  ),
});

describe('on random markets', () => {
  test('an extended run is the whole run, bit for bit, again and again', () => {
    const extendedCounts = { index: 0, strategy: 0, cadence: 0 };
    fc.assert(
      fc.property(
        randomMarket,
        randomDocument,
        fc.tuple(randomRequest, randomDecider),
        randomTerms,
        fc.integer({ min: 12, max: 23 }),
        fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
        fc.constantFrom(0, 0, 4, 1000),
        ({ market }, document, [requestTerms, createDecider], { benchmark, strategy }, rows, steps, datesMax) => {
          const request = {
            ...requestTerms,
            createDecider,
            benchmark,
            documents: { Y: BENCHMARK },
            ...(strategy ? { strategy } : {}),
          };
          const first = runOf(cut(market, rows), document, request);
          if (!first) return;
          let files: Uint8Array[] = [createRunColumns(first, { contentHash: 's' })];
          let storedRun: StoredRun = { columns: openExtended(files[0]!), checkpoint: createCheckpoint(first) };
          let to = rows;
          for (const step of steps) {
            to = Math.min(market.dates.length, to + step);
            const grownMarket = cut(market, to);
            const wholeRun = runOf(grownMarket, document, request);
            if (!wholeRun) return;
            const run = extend(wholeRun.plan, grownMarket, storedRun, { datesMax, createDecider });
            expect(run).not.toBe('new_name');
            if (typeof run === 'string') return;
            extendedCounts[strategy ? 'strategy' : 'index']++;
            files = listFilesAfter(files, run);
            const columns = openExtended(run.columns, files);
            const isRebalanced = columns.header.rebalances.length > storedRun.columns.header.rebalances.length;
            if (strategy?.rebalance && isRebalanced) extendedCounts.cadence++;
            expectSameReads(columns, openExtended(createRunColumns(wholeRun, { contentHash: 's' })));
            expect(readContent(columns)).toEqual(
              readContent(openExtended(createRunColumns(wholeRun, { contentHash: 's' }))),
            );
            expect(
              findFirstDifference(columns, openExtended(createRunColumns(wholeRun, { contentHash: 's' }))),
            ).toBeNull();
            expect(Buffer.from(formatResult(columns, wholeRun.plan, STAMP)).toString()).toBe(
              Buffer.from(runResultJson(wholeRun, STAMP)).toString(),
            );
            expect(Buffer.from(formatOverview(columns, wholeRun.plan)).toString()).toBe(
              Buffer.from(runOverviewJson(wholeRun)).toString(),
            );
            expect(run.checkpoint).toEqual(createCheckpoint(wholeRun));
            storedRun = { columns, checkpoint: run.checkpoint };
          }
        },
      ),
      { numRuns: RUNS },
    );
    expect(extendedCounts.index).toBeGreaterThan(RUNS / 30);
    expect(extendedCounts.strategy).toBeGreaterThan(RUNS / 30);
    expect(extendedCounts.cadence).toBeGreaterThan(RUNS / 30);
  });

  test('the digest of the market up to a day changes with any value of that day or earlier', async () => {
    await fc.assert(
      fc.asyncProperty(
        randomMarket,
        fc.integer({ min: 5, max: 20 }),
        fc.integer({ min: 0, max: 3 }),
        fc.nat(1000),
        async ({ market }, row, kind, choice) => {
          const grownMarket = await attachDigests(market);
          const knownMarket = await attachDigests(cut(market, row + 1));
          const day = market.dates[row]!;
          const prefix = createPrefix(knownMarket.market, knownMarket.digests, day);
          expect(comparePrefixes(createPrefix(grownMarket.market, grownMarket.digests, day), prefix)).toBeNull();
          const laterMarket = openMarketSince(shareMarket(market), findSettledDay(market, day));
          expect(comparePrefixes(createPrefix(laterMarket, grownMarket.digests, day), prefix)).toBeNull();
          const changedMarket = await attachDigests(change(market, kind, { day, row: choice % (row + 1), choice }));
          expect(comparePrefixes(createPrefix(changedMarket.market, changedMarket.digests, day), prefix)).toBe(
            kind === 3 ? 'names' : 'history',
          );
        },
      ),
      { numRuns: RUNS },
    );
  });
});

async function attachDigests(
  market: MarketData,
): Promise<{ readonly market: MarketData; readonly digests: ContentDigests }> {
  return { market, digests: (await digestContent(market)).digests };
}

interface Change {
  readonly day: number;
  readonly row: number;
  readonly choice: number;
}

/**
 * Returns the market with one change on or before a day. The change is another price, an additional action or
 * membership, or an additional security.
 */
function change(market: MarketData, kind: number, { day, row, choice }: Change): MarketData {
  const names = market.identifiers.length;
  if (kind === 0) {
    const close = market.fields.get('CLOSE')!.slice();
    const cell = row * names + (choice % names);
    close[cell] = close[cell]! > 0 ? close[cell]! + 1 : 7;
    return { ...market, fields: new Map([...market.fields, ['CLOSE', close]]) };
  }
  if (kind === 1) {
    const action: CorporateAction = {
      identifier: 'AA',
      type: 'DIVIDEND',
      value: 0.123,
      exDay: day - (choice % 40),
      payDay: null,
      status: 'paid',
      announcedDay: null,
      related: null,
      subscriptionPrice: null,
    };
    return { ...market, actions: [action, ...market.actions] };
  }
  if (kind === 2)
    return {
      ...market,
      universes: [{ universe: 'U', identifier: 'AA', start: choice % 2 === 0 ? null : day, end: null }],
    };
  return { ...market, identifiers: market.identifiers.map((name) => (name === 'NEW' ? 'NEWER' : name)) };
}

test('the guide lists every reason for a full run', () => {
  const guideText = readFileSync(new URL('../../../../../data/guide/stored-runs.md', import.meta.url), 'utf8');
  for (const reason of FULL_RUN_REASON_NAMES) expect(guideText).toContain(`| \`${reason}\` | `);
});
