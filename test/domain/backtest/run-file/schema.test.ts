import { describe, expect, test } from 'vitest';
import type { AnyBlock } from '#domain/backtest/run-file/block.js';
import { findFirstDifference } from '#domain/backtest/run-file/compare.js';
import { createRunColumns, openColumns, type RunColumns } from '#domain/backtest/run-file/columns.js';
import { BLOCK_NAMES, type BlockName, BLOCKS, findBlock } from '#domain/backtest/run-file/blocks.js';
import { buildMarket, createWeekdayCalendars } from '../market-builder.js';
import { runOn } from '../random-run.js';
import { createDocument } from '../../index-document.js';

const CALENDARS = createWeekdayCalendars({ MAIN: { from: '2024-01-01', to: '2024-01-31' } });
const DATES = ['2024-01-01', '2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'];

/**
 * Returns a run that has every possible block: costs, a cap, an order that waits for a price, a foreign security, a
 * dividend and a benchmark.
 */
function createRichRun(): Uint8Array<ArrayBuffer> {
  const market = buildMarket({
    dates: DATES,
    close: {
      A: [10, 11, 12, 13, 14],
      B: [20, 19, null, 19, 20],
      C: [5, 5, 6, 6, 5],
      EURUSD: [1.1, 1.2, 1.1, 1.1, 1.2],
      MARK: [7, 7, 8, 9, 8],
    },
    reference: {
      A: { CURRENCY: 'EUR', NAME: 'Alpha', SECTOR: 'Energy' },
      B: { CURRENCY: 'USD', NAME: 'Beta', SECTOR: 'Energy' },
      C: { CURRENCY: 'USD', NAME: 'Gamma', SECTOR: 'Energy' },
    },
    actions: [
      { name: 'A', type: 'DIVIDEND', value: 0.1, ex: DATES[3]! },
      { name: 'A', type: 'SPLIT', value: 2, ex: DATES[3]! },
    ],
  });
  const document = createDocument({
    base_date: DATES[0],
    rebalance: { frequency: 'daily', effective_lag: 1 },
    universe: { kind: 'list', identifiers: ['A', 'B', 'C'] },
    pipeline: {
      treatment: { dividends: 'total', stale_targets: 'defer' },
      weighting: { type: 'EqualWeight', cap: 0.5 },
    },
  });
  const benchmark = { id: 'MARK', kind: 'identifier', price_column: 'CLOSE' } as const;
  return createRunColumns(runOn(CALENDARS, market, document, { transaction_cost_bps: 10, benchmark }), {
    contentHash: 's',
  });
}

const openBytes = (bytes: Uint8Array): RunColumns => openColumns((start, end) => bytes.slice(start, end));

/** Returns the file with a different last element of a block. In a block of text, a digit is changed. */
function changeBlock(bytes: Uint8Array<ArrayBuffer>, name: BlockName): Uint8Array {
  const copy = bytes.slice();
  const { type, offset, length } = openBytes(bytes).header.blocks[name]!;
  const view = new DataView(copy.buffer);
  if (name === 'record') {
    const text = new TextDecoder().decode(copy.subarray(offset, offset + length));
    copy[offset + text.indexOf('"dayBefore":') + 12]!++;
  } else if (name === 'snapshots') {
    const text = new TextDecoder().decode(copy.subarray(offset, offset + length));
    copy[offset + text.lastIndexOf('"date":') + 11]!++;
  } else if (name === 'labels') copy[offset + length - 4]!++;
  else if (type === 'u8') copy[offset + length - 1]! ^= 1;
  else if (type === 'i32')
    view.setInt32(offset + 4 * (length - 1), view.getInt32(offset + 4 * (length - 1), true) + 1, true);
  else view.setFloat64(offset + 8 * (length - 1), view.getFloat64(offset + 8 * (length - 1), true) * 1.5 + 1, true);
  return copy;
}

describe('of everything that is stored of a run', () => {
  const bytes = createRichRun();
  const storedBlocks = BLOCK_NAMES.filter((name) => openBytes(bytes).has(name));

  test('there is a block of every kind but those of extended runs, of short positions, of spin-offs without a price of the parent, of rounding, of share changes, of overlays and of dividends reinvested in the constituent', () => {
    const otherBlocks = [
      'publishedWeights',
      'joinedPrice',
      'shortCash',
      'detachments',
      'shareChanges',
      'keptShares',
      'ownParts',
      'exactDivisor',
    ];
    expect(BLOCK_NAMES.filter((name) => !storedBlocks.includes(name))).toEqual(otherBlocks);
    for (const name of storedBlocks) expect(openBytes(bytes).header.blocks[name]!.length, name).toBeGreaterThan(0);
  });

  test.each(storedBlocks)('a changed element of %s is a difference', (name) => {
    const result = findFirstDifference(openBytes(changeBlock(bytes, name)), openBytes(bytes));
    expect(result?.part).toMatch(name === 'snapshots' ? /^rebalances\[/ : new RegExp(`^(${name}|record)`));
  });
});

test('blocks that are compared in one way have an order: no two have one rank', () => {
  const ranks = BLOCK_NAMES.map((name) => findBlock(name).compare).flatMap((compare) =>
    'rank' in compare ? [`${compare.by} ${compare.rank}`] : [],
  );
  expect(ranks).toHaveLength(new Set(ranks).size);
});

test('a block without the action for each case is invalid', () => {
  const { added: _added, ...forgotten } = findBlock('cash');
  // @ts-expect-error It does not say what an extension adds.
  const block: AnyBlock = forgotten;
  expect(block).not.toHaveProperty('added');
  expect(BLOCKS.cash).toHaveProperty('added');
});
