import { findFirstAtLeast } from '../../base/numbers.js';
import type { Day } from '../../base/time.js';
import { type Book, readDrift, toShareTime } from '../../books/book.js';
import { createIndexTerms } from '../../books/index-run.js';
import { createEffectTable, toShortTerms } from '../../market/action-effects.js';
import { readReference, type ReturnVariant } from '../../market/market-data.js';
import type { SessionMarket } from '../../market/session-market.js';
import { isPublishedBook } from '../plan.js';
import { hasOwnRebalances } from '../strategies.js';
import {
  type AnyBlock,
  type Block,
  type BlockFiller,
  compareByDate,
  compareByElement,
  computeEventCosts,
  createAppended,
  createEffectRows,
  createEventRows,
  createPoolBlock,
  createRebalanceRows,
  createSeriesBlock,
  createVariantBlock,
  createWeightRows,
  EFFECT_WIDTH,
  findPosition,
  groupEffectsBySecurity,
  groupRowsBySecurity,
  joinedPrice,
  listAppendedEffects,
  listAppendedRates,
  listAppendedWeights,
  listWholeEffects,
  listWholeRates,
  price,
  repeatRatesBySecurity,
  type RowLayout,
  toFilledBytes,
  toFilledFloats,
  toFilling,
  toFillingOrNull,
  type WholeRun,
} from './block.js';

/**
 * Number of elements in a row: security, date, special dividend, ordinary dividend of a long position, ordinary
 * dividend of a short position.
 */
export const DISTRIBUTION_WIDTH = 5;

const DISTRIBUTION_LAYOUT: RowLayout = {
  width: DISTRIBUTION_WIDTH,
  has: ({ special, ordinary }, e) => special[e] !== 0 || ordinary[e] !== 0,
  write(rows, position, { special, income, ordinary, terms }, e) {
    rows[position + 2] = special[e]!;
    rows[position + 3] = income[e]!;
    rows[position + 4] = terms.variant === 'price' ? 0 : ordinary[e]!;
  },
};

/** Cash per share that is not reinvested in the paying security. */
const distributions: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: DISTRIBUTION_WIDTH,
  compare: compareByElement(9),
  upgrade: (columns) => groupRowsBySecurity(columns.f64('distributions'), DISTRIBUTION_WIDTH),
  canBeAddedLater: true,
  meaning:
    'rows of security, date, special dividend by which the previous close is reduced, ordinary dividend that a long and a short position reinvest in the whole index; by security then date, those of an extension follow; absent if there are none, and up to 0.2.0',
  whole: (source) => listRows(source, DISTRIBUTION_LAYOUT),
  added: (source) => ({
    appended: listAppendedEffects(source, DISTRIBUTION_LAYOUT).filter(({ length }) => length > 0),
  }),
};

/** Number of elements in a row: security, date, value of the spun-off shares. */
export const DETACHMENT_WIDTH = 3;

const DETACHMENT_LAYOUT: RowLayout = {
  width: DETACHMENT_WIDTH,
  has: ({ detached }, e) => detached[e] !== 0,
  write(rows, position, { detached }, e) {
    rows[position + 2] = detached[e]!;
  },
};

/** Value of spun-off shares by which the price of a security without a bar falls. */
const detachments: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: DETACHMENT_WIDTH,
  compare: compareByElement(13),
  upgrade: (columns) => groupRowsBySecurity(columns.f64('detachments'), DETACHMENT_WIDTH),
  canBeAddedLater: true,
  meaning:
    'rows of security, date, value of spun-off shares by which the price of a security without a price bar falls; by security then date, those of an extension follow; absent if there are none, and up to 0.7.0',
  whole: (source) => listRows(source, DETACHMENT_LAYOUT),
  added: (source) => ({
    appended: listAppendedEffects(source, DETACHMENT_LAYOUT).filter(({ length }) => length > 0),
  }),
};

/** Returns the rows of a whole run. Returns null if there are none. */
function listRows(
  { run: { portfolio, index }, names }: Pick<WholeRun, 'run' | 'names'>,
  layout: RowLayout,
): BlockFiller<Float64Array> | null {
  const { sm, from, length } = portfolio;
  const table = createEffectTable(sm, createIndexTerms(index.compositions));
  const rows = createEffectRows(table, layout, { names, securityCount: sm.securityCount, from, to: from + length });
  return rows.length === 0 ? null : rows;
}

/** Number of elements in a row: security, date, dividends, moved weight. */
export const TRANSFER_WIDTH = 4;

/** Block with the rows of `Transfers`. */
const transfers: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: TRANSFER_WIDTH,
  compare: compareByElement(8),
  upgrade: 'absent',
  canBeAddedLater: true,
  meaning:
    'rows of security, date, ordinary dividends and weight that an adjusted close took from the security, as fractions of the value at the previous close; by date; absent if there are none, and up to 0.2.0',
  whole: ({ run: { portfolio }, names }) => createTransferRows(portfolio, { names, before: 0 }),
  added({ continuation: { portfolio }, names, before }) {
    const rows = createTransferRows(portfolio, { names, before: before - 1 });
    return createAppended(...(rows ? [toFilledFloats(rows)] : []));
  },
};

interface TransferPlacement {
  readonly names: Int32Array;
  /** Run date index of the book's first session. */
  readonly before: number;
}

/** Returns the transfers of a book as rows. Returns null if there are none. */
function createTransferRows(
  { transfers, columns }: Book,
  { names, before }: TransferPlacement,
): BlockFiller<Float64Array> | null {
  if (transfers === undefined || transfers.at.length === 0) return null;
  const { at, slot, dividends, moved } = transfers;
  return {
    length: TRANSFER_WIDTH * at.length,
    writeTo(rows) {
      const positions = columns.map((column) => findPosition(names, column));
      for (let i = 0; i < at.length; i++) {
        rows[TRANSFER_WIDTH * i] = positions[slot[i]!]!;
        rows[TRANSFER_WIDTH * i + 1] = before + at[i]!;
        rows[TRANSFER_WIDTH * i + 2] = dividends[i]!;
        rows[TRANSFER_WIDTH * i + 3] = moved[i]!;
      }
    },
  };
}

/** Ordinary dividends of the index; absent if dividends are reinvested in the paying security. */
const dividendPoints = createPointsBlock('points', {
  meaning: 'ordinary dividends in points of the price return',
  rank: 22,
});
const netDividendPoints = createPointsBlock('netPoints', {
  meaning: 'ordinary dividends after withholding tax, in points of the price return',
  rank: 23,
});

function createPointsBlock(
  member: 'points' | 'netPoints',
  { meaning, rank }: { readonly meaning: string; readonly rank: number },
): Block<'f64'> {
  const readPoints = ({ reinvested }: Book): Float64Array | null => reinvested?.[member] ?? null;
  return {
    ...createSeriesBlock({
      axes: ['index dates'],
      meaning: `${meaning}; absent up to 0.2.0`,
      compare: compareByDate(rank),
      whole: ({ run }) => readPoints(run.index.book),
      added: ({ continuation }) => readPoints(continuation.index.book),
    }),
    upgrade: 'absent',
  };
}

/** Number of elements in a row: security, moment, shares. */
export const SHARE_WIDTH = 3;

/**
 * Index shares: each change with the number of shares after it. The file of a strategy has none: it shows the
 * holdings of the strategy, and lacks securities that only the index holds.
 */
const indexShares: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: SHARE_WIDTH,
  compare: compareByElement(12),
  upgrade: 'absent',
  canBeAddedLater: true,
  meaning:
    'rows of security, moment (3 x date, plus 0 before the session, 1 at its close, 2 after its trades), index shares after it, by moment; absent for a strategy, if dividends change index shares, and up to 0.7.0',
  whole: ({ run: { plan, index, portfolio }, names }) =>
    plan.strategy !== undefined
      ? null
      : createShareRows(index.book, { names, first: portfolio.from, before: 0, isWhole: true }),
  added({ plan, continuation: { index, portfolio }, names, before }) {
    if (plan.strategy !== undefined) return null;
    const placement = { names, first: portfolio.from, before: before - 1, isWhole: false };
    const rows = createShareRows(index.book, placement);
    return createAppended(...(rows ? [toFilledFloats(rows)] : []));
  },
};

interface SharePlacement {
  readonly names: Int32Array;
  /** Session of the market that corresponds to the run date index `before`. */
  readonly first: number;
  readonly before: number;
  /** True if the rows begin with the holdings after the first close. */
  readonly isWhole: boolean;
}

/** Returns the index shares of a book as rows. Returns null if there are none. */
function createShareRows(
  { shares: record, columns, from }: Book,
  { names, first, before, isWhole }: SharePlacement,
): BlockFiller<Float64Array> | null {
  if (record === undefined) return null;
  const { time, slot, shares } = record;
  const opened = toShareTime(first - from, 'after');
  const begin = findFirstAtLeast(time, opened + 1);
  const held = new Float64Array(columns.length);
  if (isWhole) for (let i = 0; i < begin; i++) held[slot[i]!] = shares[i]!;
  const heldSlots = [...held.keys()].filter((k) => held[k] !== 0);
  const rowCount = heldSlots.length + time.length - begin;
  if (rowCount === 0) return null;
  return {
    length: SHARE_WIDTH * rowCount,
    writeTo(rows) {
      const positions = columns.map((column) => findPosition(names, column));
      const moved = toShareTime(before, 'after') - opened;
      heldSlots.forEach((k, i) => rows.set([positions[k]!, toShareTime(before, 'after'), held[k]!], SHARE_WIDTH * i));
      for (let i = begin, row = SHARE_WIDTH * heldSlots.length; i < time.length; i++, row += SHARE_WIDTH) {
        rows[row] = positions[slot[i]!]!;
        rows[row + 1] = time[i]! + moved;
        rows[row + 2] = shares[i]!;
      }
    },
  };
}

/**
 * Names and sectors of a run's securities in the market on the last date of the run, [H] each. Null for a security
 * without the entry.
 */
export interface RunLabels {
  readonly names: readonly (string | null)[];
  readonly sectors: readonly (string | null)[];
}

function readLabels({ identifiers, market: { reference } }: SessionMarket, columns: Int32Array, day: Day): Uint8Array {
  const readTexts = (field: string): (string | null)[] =>
    Array.from(columns, (column) => {
      const value = readReference(reference, identifiers[column]!, field, day);
      return value === null ? null : String(value);
    });
  return new TextEncoder().encode(
    JSON.stringify({ names: readTexts('NAME'), sectors: readTexts('SECTOR') } satisfies RunLabels),
  );
}

/** Growth from prices only. For an overlay, its own growth; see `readDrift`. */
const drift: Block<'f64'> = {
  type: 'f64',
  axes: ['dates'],
  meaning:
    'growth by prices: the factor from the weights after a close to those before the next; absent if it equals `gross`',
  compare: compareByDate(21),
  upgrade: 'absent',
  whole: ({ run: { portfolio } }) => (hasDrift(portfolio) ? toFilling(readDrift(portfolio)) : null),
  added: ({ continuation: { portfolio } }) =>
    hasDrift(portfolio) ? createAppended(readDrift(portfolio).subarray(1)) : null,
};

function hasDrift({ overlay, drift }: Book): boolean {
  return overlay !== undefined || drift !== undefined;
}

/** Return components of an overlay: one value per component of the header, by date. */
const overlayReturnParts: Block<'f64'> = {
  type: 'f64',
  axes: ['dates', 'numbers'],
  meaning:
    'contributions to the return of each session that belong to no security, in the order of the header; absent if there are none',
  compare: compareByElement(7),
  upgrade: 'absent',
  whole({ run: { portfolio } }) {
    const values = computePartRows(portfolio);
    return values && toFilling(values);
  },
  added({ continuation: { portfolio } }) {
    const values = computePartRows(portfolio);
    return values && createAppended(values.subarray(portfolio.overlay!.parts.length)); // only an overlay with components has these rows
  },
};

/** Returns the contributions of the overlay components, [T x components]. */
function computePartRows({ overlay, length }: Book): Float64Array | null {
  const parts = overlay?.parts ?? [];
  if (parts.length === 0) return null;
  const values = new Float64Array(length * parts.length);
  parts.forEach(({ contributions }, p) => {
    for (let t = 0; t < length; t++) values[t * parts.length + p] = contributions[t]!;
  });
  return values;
}

/**
 * Ratio of the divisor before rounding to the rounded divisor at each close. Index shares refer to the divisor before
 * rounding.
 */
const exactDivisor: Block<'f64'> = {
  ...createSeriesBlock({
    axes: ['index dates'],
    meaning: 'divisor before over divisor after its rounding at each close; absent if it is not rounded',
    compare: compareByDate(24),
    whole: ({ run }) => run.index.book.exactDivisor ?? null,
    added: ({ continuation }) => continuation.index.book.exactDivisor ?? null,
  }),
  upgrade: 'absent',
};

/** Number of elements in a row: security, date, shares before, shares after. */
export const SHARE_CHANGE_WIDTH = 4;

/** Changes of share counts and free float that the index adopted between reviews. */
const shareChanges: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: SHARE_CHANGE_WIDTH,
  compare: compareByElement(10),
  upgrade: 'absent',
  canBeAddedLater: true,
  meaning:
    'rows of security, date, shares represented by the index before and after, on the share basis of the date, by date; absent if there are none, for a strategy with separate rebalances, and up to 0.2.0',
  whole: ({ run: { plan, index, portfolio }, names }) =>
    hasOwnRebalances(plan.strategy)
      ? null
      : toFillingOrNull(createChangeRows(index.book, { names, first: portfolio.from, before: 0 })),
  added({ plan, continuation: { index, portfolio }, names, before }) {
    if (hasOwnRebalances(plan.strategy)) return null;
    const rows = createChangeRows(index.book, { names, first: portfolio.from, before: before - 1 });
    return createAppended(...(rows ? [rows] : []));
  },
};

/** Number of elements in a row: date, fraction. */
export const SHARE_FRACTION_WIDTH = 2;

/** Block with the rows of `Transfers.kept`. */
const keptShares: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  compare: compareByElement(11),
  upgrade: 'absent',
  canBeAddedLater: true,
  meaning:
    'rows of date, fraction of its weight that each security of the portfolio kept when share counts changed before the session, by date; absent if there are none, and up to 0.2.0',
  whole: ({ run: { portfolio } }) => toFillingOrNull(findShareFractionRows(portfolio, 0)),
  added({ continuation: { portfolio }, before }) {
    const rows = findShareFractionRows(portfolio, before - 1);
    return createAppended(...(rows ? [rows] : []));
  },
};

/**
 * Returns the rows of the kept fractions. Returns null if there are none.
 * @param before run date index of the book's first session
 */
function findShareFractionRows({ transfers }: Book, before: number): Float64Array | null {
  if (transfers === undefined || transfers.keptAt.length === 0) return null;
  const { keptAt, kept: fractions } = transfers;
  const rows = new Float64Array(SHARE_FRACTION_WIDTH * keptAt.length);
  for (let i = 0; i < keptAt.length; i++) {
    rows[SHARE_FRACTION_WIDTH * i] = before + keptAt[i]!;
    rows[SHARE_FRACTION_WIDTH * i + 1] = fractions[i]!;
  }
  return rows;
}

interface ChangePlacement {
  readonly names: Int32Array;
  /** Session of the market that corresponds to the run date index `before`. */
  readonly first: number;
  readonly before: number;
}

/** Returns the share-count changes of a book as rows. Returns null if there are none. */
function createChangeRows(
  { shareChanges: changes }: Book,
  { names, first, before }: ChangePlacement,
): Float64Array | null {
  if (changes === undefined) return null;
  const { session, column, before: from, after } = changes;
  const begin = findFirstAtLeast(session, first + 1);
  if (begin === session.length) return null;
  const positions = indexPositions(names);
  const rows = new Float64Array(SHARE_CHANGE_WIDTH * (session.length - begin));
  for (let i = begin, position = 0; i < session.length; i++, position += SHARE_CHANGE_WIDTH) {
    rows[position] = positions[column[i]!] ?? -1;
    rows[position + 1] = before + session[i]! - first;
    rows[position + 2] = from[i]!;
    rows[position + 3] = after[i]!;
  }
  return rows;
}

/** Returns the position in the ascending `names` of each market column; -1 if absent. */
function indexPositions(names: Int32Array): Int32Array {
  const positions = new Int32Array((names.at(-1) ?? -1) + 1).fill(-1);
  names.forEach((column, place) => (positions[column] = place));
  return positions;
}

/** Number of elements in a row: security, date, cash. */
export const SHORT_CASH_WIDTH = 3;

/**
 * Cash that short positions pay. Present if tax is withheld from long positions: short positions pay dividends in full,
 * so the cash of the two differs.
 */
const shortCash: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: SHORT_CASH_WIDTH,
  compare: compareByElement(6),
  upgrade: 'absent',
  canBeAddedLater: true,
  meaning:
    'rows of security, date, cash per share that a short position paid, by date then security; absent if no tax is withheld, and up to 0.2.0',
  whole({ run: { portfolio, index }, names }) {
    if (portfolio.overlay !== undefined) return null; // an overlay earns its short positions through the growth of its underlying index
    const books = [portfolio, index.book];
    return toFillingOrNull(findPaidByShorts({ terms: index.compositions, books, names, ...portfolio, before: 0 }));
  },
  added({ continuation: { index, portfolio }, names, before }) {
    const books = [portfolio, index.book];
    const rows = findPaidByShorts({ terms: index, books, names, ...portfolio, before: before - 1 });
    return createAppended(...(rows ? [rows] : []));
  },
};

interface ShortCash extends Pick<Book, 'sm' | 'from' | 'length'> {
  readonly terms: Parameters<typeof createIndexTerms>[0];
  /** Books of the run; a row is written if a position is short in any of them. */
  readonly books: readonly Book[];
  readonly names: Int32Array;
  /** Run date index of the first session. */
  readonly before: number;
}

/** Returns the cash that short positions paid, as rows. Returns null if none paid. */
function findPaidByShorts({ terms, books, names, sm, from, length, before }: ShortCash): Float64Array | null {
  const growthTerms = createIndexTerms(terms);
  const shortTerms = toShortTerms(growthTerms);
  if (shortTerms === growthTerms) return null;
  const { columns, cash: paid, starts } = createEffectTable(sm, shortTerms);
  const rows: number[] = [];
  for (let session = from + 1; session < from + length; session++) {
    for (let e = starts[session]!; e < starts[session + 1]!; e++) {
      const column = columns[e]!;
      const cash = paid[e]!;
      if (cash > 0 && books.some((book) => readWeight(book, session - 1, column) < 0))
        rows.push(findPosition(names, column), before + session - from, cash);
    }
  }
  return rows.length === 0 ? null : Float64Array.from(rows);
}

function readWeight({ from, columns, weights }: Book, session: number, column: number): number {
  const slot = findPosition(columns, column);
  return slot < 0 ? 0 : weights[(session - from) * columns.length + slot]!;
}

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
  publishedWeights: {
    type: 'f64',
    axes: ['dates', 'names'],
    meaning:
      'weights of the price return after each close, if an index of another return variant reinvests dividends in the paying constituents',
    compare: compareByDate(25),
    upgrade: 'absent',
    whole: ({ run: { portfolio, published }, names }) =>
      published &&
      createWeightRows(published, names, { from: portfolio.from - published.from, count: portfolio.length }),
    added: ({ plan, continuation: { index, variants }, names }) =>
      isPublishedBook(plan, index, 'price') ? createAppended(listAppendedWeights(variants.price!, names)) : null,
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
  uncapped: {
    type: 'f64',
    axes: ['index dates'],
    meaning: 'levels of the index on its weights before capping; none without a cap',
    compare: compareByDate(20),
    upgrade: 'same',
    whole: ({ run: { uncapped, index } }) =>
      uncapped && { length: index.book.length, writeTo: (into) => into.set(uncapped().value) },
    added: ({ continuation: { uncapped } }) => uncapped && createAppended(uncapped.value.subarray(1)),
  },
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
