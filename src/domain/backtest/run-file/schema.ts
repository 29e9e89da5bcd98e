import { exactDivisor } from './rounding.js';
import type { ReturnVariant } from '../../market/market-data.js';
import type { AnyBlock } from './block.js';
import { listAppendedEffects, groupEffectsBySecurity, EFFECT_WIDTH, listWholeEffects } from './effects.js';
import { readLabels } from './labels.js';
import {
  listAppendedWeights,
  computeEventCosts,
  createEventRows,
  toFilledFloats,
  toFilledBytes,
  createRebalanceRows,
  createWeightRows,
} from './panels.js';
import {
  createAppended,
  compareByDate,
  compareByElement,
  createPoolBlock,
  toFilling,
  toFillingOrNull,
  createSeriesBlock,
  createVariantBlock,
} from './parts.js';
import { drift, overlayReturnParts } from './overlay-blocks.js';
import { joinedPrice, price } from './prices.js';
import { listAppendedRates, repeatRatesBySecurity, listWholeRates } from './rates.js';
import { dividendPoints, netDividendPoints, transfers } from './dividends.js';
import { detachments, distributions } from './distributions.js';
import { indexShares } from './index-shares.js';
import { keptShares, shareChanges } from './share-changes.js';
import { shortCash } from './short-cash.js';

/**
 * Catalogue of a run file: one entry per block, in the order of a whole run. The functions that write, extend, read and
 * compare files use only the catalogue. Axes: T run dates, H held securities, R rebalances, E sessions with events, B
 * index book dates.
 */
export const BLOCKS = {
  days: {
    type: 'i32',
    axes: ['dates'],
    meaning: 'days of the run',
    compare: { by: 'days' },
    upgrade: 'same',
    whole: ({ run }) => toFilling(run.days),
    added: ({ days }) => ({ replaced: days }),
  },
  level: {
    type: 'f64',
    axes: ['dates'],
    meaning: 'portfolio rebased to 100',
    compare: compareByDate(11),
    upgrade: 'same',
    whole: ({ run }) => toFilling(run.level),
    added: ({ level, before }) => createAppended(level.subarray(before)),
  },
  value: {
    type: 'f64',
    axes: ['dates'],
    meaning: 'portfolio in money',
    compare: compareByDate(10),
    upgrade: 'same',
    whole: ({ run }) => toFilling(run.portfolio.value),
    // An extension rewrites the whole series, because reading one file is faster than reading several.
    added: ({ value }) => ({ replaced: value }),
  },
  gross: createSeriesBlock({
    axes: ['dates'],
    meaning: 'growth of the portfolio over each session before costs',
    compare: compareByDate(7),
    whole: ({ run }) => run.portfolio.gross,
    added: ({ continuation }) => continuation.portfolio.gross,
  }),
  costs: {
    type: 'f64',
    axes: ['dates'],
    meaning: 'costs paid, in money',
    compare: compareByDate(8),
    upgrade: 'same',
    whole: ({ run }) => toFilling(run.portfolio.costs),
    added: ({ costs }) => ({ replaced: costs }),
  },
  cash: createSeriesBlock({
    axes: ['dates'],
    meaning: 'fraction of the portfolio in cash',
    compare: compareByDate(9),
    whole: ({ run }) => run.portfolio.cash,
    added: ({ continuation }) => continuation.portfolio.cash,
  }),
  breaks: {
    type: 'u8',
    axes: ['dates'],
    compare: compareByDate(6),
    upgrade: 'absent',
    meaning: '1 on sessions with more than growth by the close: securities entered, left or were traded',
    whole: ({ run }) => toFilling(run.portfolio.begins),
    added: ({ continuation }) => createAppended(continuation.portfolio.begins.subarray(1)),
  },
  weights: {
    type: 'f64',
    axes: ['dates', 'names'],
    meaning: 'portfolio weights after each close',
    compare: compareByDate(4),
    upgrade: 'same',
    whole: ({ run: { portfolio }, names }) => createWeightRows(portfolio, names, { from: 0, count: portfolio.length }),
    added: ({ continuation, names }) => createAppended(listAppendedWeights(continuation.portfolio, names)),
  },
  indexWeights: {
    type: 'f64',
    axes: ['dates', 'names'],
    meaning: 'index weights after each close if they differ',
    compare: compareByDate(5),
    upgrade: 'same',
    whole: ({ run: { portfolio }, indexRows, names }) =>
      indexRows &&
      createWeightRows(indexRows, names, { from: portfolio.from - indexRows.from, count: portfolio.length }),
    added: ({ continuation, hasIndexWeights, names }) =>
      hasIndexWeights ? createAppended(listAppendedWeights(continuation.index.book, names)) : null,
  },
  eventAt: {
    type: 'i32',
    axes: ['events'],
    meaning: 'positions of the sessions with events other than drift',
    compare: compareByElement(2),
    upgrade: 'same',
    whole: ({ run }) => toFilling(Int32Array.from(run.portfolio.events, ({ at }) => at)),
    added: ({ continuation, before }) =>
      createAppended(Int32Array.from(continuation.portfolio.events, ({ at }) => at + before - 1)),
  },
  before: {
    type: 'f64',
    axes: ['events', 'names'],
    meaning: 'portfolio weights after drift, before trades',
    compare: compareByElement(3),
    upgrade: 'same',
    whole: ({ run, names }) => createEventRows(run.portfolio, names),
    added: ({ continuation, names }) => createAppended(toFilledFloats(createEventRows(continuation.portfolio, names))),
  },
  eventCosts: {
    type: 'f64',
    axes: ['events', 'names'],
    compare: compareByElement(4),
    upgrade: 'same',
    meaning:
      'costs of each security on those sessions as a fraction of the value at the previous close; none for a run without costs',
    whole: ({ run, names }) => computeEventCosts(run, names),
    added({ plan, continuation: { portfolio }, trades, names }) {
      const costs = computeEventCosts({ plan, portfolio, trades }, names);
      return costs && createAppended(toFilledFloats(costs));
    },
  },
  targets: {
    type: 'f64',
    axes: ['rebalances', 'names'],
    meaning: 'applied weights of each rebalance',
    compare: compareByDate(2),
    upgrade: 'same',
    whole: ({ run: { plan, rebalances }, names }) => createRebalanceRows({ plan, rebalances, names }, 'targets'),
    added: ({ plan, continuation: { rebalances }, names }) =>
      createAppended(toFilledFloats(createRebalanceRows({ plan, rebalances, names }, 'targets'))),
  },
  raw: {
    type: 'f64',
    axes: ['rebalances', 'names'],
    meaning: 'weights before capping',
    compare: compareByDate(1),
    upgrade: 'same',
    whole: ({ run: { plan, rebalances }, names }) => createRebalanceRows({ plan, rebalances, names }, 'raw'),
    added: ({ plan, continuation: { rebalances }, names }) =>
      createAppended(toFilledFloats(createRebalanceRows({ plan, rebalances, names }, 'raw'))),
  },
  capped: {
    type: 'u8',
    axes: ['rebalances', 'names'],
    meaning: '1 if a rebalance held a security at its cap',
    compare: compareByDate(3),
    upgrade: 'same',
    whole: ({ run: { plan, rebalances }, names }) => createRebalanceRows({ plan, rebalances, names }, 'capped'),
    added: ({ plan, continuation: { rebalances }, names }) =>
      createAppended(toFilledBytes(createRebalanceRows({ plan, rebalances, names }, 'capped'))),
  },
  price,
  joinedPrice,
  effects: {
    type: 'f64',
    axes: ['effects', 'numbers'],
    positionsEvery: EFFECT_WIDTH,
    compare: compareByElement(0),
    upgrade: groupEffectsBySecurity,
    meaning:
      'rows of security, date, ratio, cash, rights, subscription price, by security then date; those of an extension follow',
    whole: ({ run, names }) => listWholeEffects(run, names),
    added: (source) => ({ appended: listAppendedEffects(source) }),
  },
  shortCash,
  distributions,
  detachments,
  transfers,
  shareChanges,
  keptShares,
  indexShares,
  drift,
  ownParts: overlayReturnParts,
  rates: {
    type: 'f64',
    axes: ['currencies', 'dates'],
    compare: compareByElement(1),
    upgrade: repeatRatesBySecurity,
    canBeAddedLater: true,
    meaning: 'exchange rates, a row for each currency',
    whole: ({ run: { portfolio }, rates }) => listWholeRates(rates, portfolio),
    added(source) {
      const rates = listAppendedRates(source);
      return rates && { replaced: rates };
    },
  },
  indexDays: {
    type: 'i32',
    axes: ['index dates'],
    meaning: 'days of the index book',
    compare: { by: 'days' },
    upgrade: 'same',
    whole: ({ run }) => toFilling(run.index.days),
    added: ({ continuation: { index } }) => createAppended(index.sm.sessions.slice(index.from + 1, index.to + 1)),
  },
  indexLevel: {
    type: 'f64',
    axes: ['index dates'],
    meaning: 'index in points',
    compare: compareByDate(12),
    upgrade: 'same',
    whole: ({ run }) => toFilling(run.index.book.value),
    added: ({ indexLevel }) => ({ replaced: indexLevel }),
  },
  divisor: createSeriesBlock({
    axes: ['index dates'],
    meaning: 'divisor',
    compare: compareByDate(13),
    whole: ({ run }) => run.index.book.divisor,
    added: ({ continuation }) => continuation.index.book.divisor,
  }),
  dividendPoints,
  netDividendPoints,
  exactDivisor,
  levelPrice: createVariantBlock('price', 'level', 14),
  divisorPrice: createVariantBlock('price', 'divisor', 17),
  levelTotal: createVariantBlock('total', 'level', 15),
  divisorTotal: createVariantBlock('total', 'divisor', 18),
  levelNet: createVariantBlock('net', 'level', 16),
  divisorNet: createVariantBlock('net', 'divisor', 19),
  uncapped: createSeriesBlock({
    axes: ['index dates'],
    meaning: 'levels of the index on its weights before capping; none without a cap',
    compare: compareByDate(20),
    whole: ({ run }) => run.uncapped,
    added: ({ continuation }) => continuation.uncapped && continuation.uncapped.value,
  }),
  benchmarkDays: {
    type: 'i32',
    axes: ['benchmark dates'],
    meaning: 'days that run and benchmark share',
    compare: { by: 'other days' },
    upgrade: 'same',
    whole: ({ run }) => toFillingOrNull(run.benchmark && run.benchmark.relative.days),
    added: ({ relative }) => relative && { replaced: relative.days },
  },
  benchmarkLevel: {
    type: 'f64',
    axes: ['benchmark dates'],
    meaning: 'benchmark rebased to 100 on those days',
    compare: compareByElement(5),
    upgrade: 'same',
    whole: ({ run }) => toFillingOrNull(run.benchmark && run.benchmark.relative.level),
    added: ({ relative }) => relative && { replaced: relative.level },
  },
  labels: {
    type: 'u8',
    axes: ['bytes'],
    meaning: 'RunLabels as JSON',
    compare: { by: 'content' },
    upgrade: 'same',
    whole: ({
      run: {
        portfolio: { sm },
        days,
      },
      names,
    }) => toFilling(readLabels(sm, names, days.at(-1)!)),
    added: ({
      continuation: {
        index: { sm },
      },
      names,
      days,
    }) => ({ replaced: readLabels(sm, names, days.at(-1)!) }),
  },
  record: {
    type: 'u8',
    axes: ['bytes'],
    compare: { by: 'record' },
    upgrade: 'absent',
    meaning: 'the record as JSON that refers to its pools and to other blocks: see `record/schema.ts`',
    whole: ({ record }) => toFilling(record.description),
    added: ({ record }) => ({ replaced: record.description }),
  },
  snapshots: {
    type: 'u8',
    axes: ['bytes'],
    compare: { by: 'record' },
    upgrade: 'absent',
    meaning: 'rebalances of the run as its result shows them, as JSON that refers to the pools of the record',
    whole: ({ record }) => toFilling(record.rebalances),
    added: ({ record }) => ({ replaced: record.rebalances }),
  },
  recordF64: createPoolBlock('f64', 'numbers of the record'),
  recordI32: createPoolBlock('i32', 'days and positions of securities of the record'),
  recordU8: createPoolBlock('u8', 'marks of the record'),
} as const satisfies Readonly<Record<string, AnyBlock>>;

export type BlockName = keyof typeof BLOCKS;

export const BLOCK_NAMES = Object.keys(BLOCKS) as BlockName[]; // Object.keys returns plain strings.

/** Returns the catalogue entry of a block. */
export function findBlock(name: BlockName): AnyBlock {
  return BLOCKS[name];
}

export function isBlockName(name: string): name is BlockName {
  return name in BLOCKS;
}

/** Returns true if a block has a column for every security of the run. */
export function isPanel(name: BlockName): boolean {
  return findBlock(name).axes[1] === 'names';
}

/**
 * Blocks of the index level and divisor in each return variant; absent if the market prices do not allow the variant.
 */
export const VARIANT_BLOCKS = {
  price: { level: 'levelPrice', divisor: 'divisorPrice' },
  total: { level: 'levelTotal', divisor: 'divisorTotal' },
  net: { level: 'levelNet', divisor: 'divisorNet' },
} as const satisfies Record<ReturnVariant, { readonly level: BlockName; readonly divisor: BlockName }>;
