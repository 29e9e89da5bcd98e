import { computeCashWeight } from '#domain/analytics/concentration.js';
import { SHARE_WIDTH, VARIANT_BLOCKS } from '#domain/backtest/run-file/blocks.js';
import { findRunSettings, readRunShareTerms } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { findLastAtMost, roundHalfAwayFromZero } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { type ShareMoment, toShareTime } from '#domain/books/book.js';
import type { Composer } from '#domain/books/compositions.js';
import { readSpinOff } from '#domain/books/events.js';
import { createIndexShares, createIndexTerms, simulateIndexBook } from '#domain/books/index-run.js';
import { findAnnouncedIndex, type UnannouncedIndex } from '#domain/books/pending-changes.js';
import { findAnnouncement } from '#domain/books/rebalance-dates.js';
import { isOverlayDocument, listSources } from '#domain/definition/index-document.js';
import { createDatedRounding, findRounding } from '#domain/definition/treatment.js';
import { adjustClose, carryClose, computeOpeningFactor, computeShareFactor } from '#domain/market/action-effects.js';
import { readCarriedClose } from '#domain/market/growth.js';
import type { MarketData, ReturnVariant } from '#domain/market/market-data.js';
import { createExchangeRates } from '#domain/market/rates.js';
import { formatCashName } from '#domain/outputs/exports.js';
import { type CountChange, listCountChanges, listRunEffects, readIndexSeries, type RunEffect } from './run-columns.js';

interface PricedRun {
  readonly columns: RunColumns;
  readonly effects: readonly RunEffect[];
}

/** Returns a function that reads the index shares of a run. Returns undefined if the run stores none. */
function createStoredShares(
  columns: RunColumns,
): ((position: number, moment: ShareMoment) => Float64Array) | undefined {
  if (!columns.has('indexShares')) return undefined;
  const rows = columns.f64('indexShares');
  return (position, moment) => {
    const shares = new Float64Array(columns.header.names.length);
    const until = toShareTime(position, moment);
    for (let row = 0; row < rows.length && rows[row + 1]! <= until; row += SHARE_WIDTH)
      if (rows[row]! >= 0) shares[rows[row]!] = rows[row + 2]!;
    return shares;
  };
}

/** Returns the last closes on or before a session, on the share basis of the session. NaN if there is none. */
function readPricesAt({ columns, effects }: PricedRun, position: number): Float64Array {
  const H = columns.header.names.length;
  const price = new Float64Array(H).fill(Number.NaN);
  const sessions = new Int32Array(H).fill(-1);
  for (let t = position, missingCount = H; t >= 0 && missingCount > 0; t--) {
    const closes = columns.f64('price', t * H, (t + 1) * H);
    for (let i = 0; i < H; i++) {
      if (sessions[i]! >= 0 || Number.isNaN(closes[i]!)) continue;
      price[i] = closes[i]!;
      sessions[i] = t;
      missingCount--;
    }
  }
  for (const { name, at: t, effect } of effects)
    if (t <= position && sessions[name]! >= 0 && t > sessions[name]!) price[name] = carryClose(effect, price[name]!);
  return price;
}

function readRatesAt({ columns }: Pick<PricedRun, 'columns'>, position: number): Float64Array {
  const { names, foreign, dates } = columns.header;
  const fx = new Float64Array(names.length).fill(1);
  for (const [name, row] of Object.entries(foreign))
    fx[Number(name)] = columns.f64('rates', row * dates + position, row * dates + position + 1)[0]!;
  return fx;
}

/**
 * Index shares and prices on a session. Market value / divisor is the level. Cash, if there is any, is the last entry.
 */
export interface IndexFile {
  readonly day: Day;
  /** Identifiers of the securities, [H]. */
  readonly names: readonly string[];
  readonly divisor: number;
  /** Index shares, [H]; 0 for a security that is not held. */
  readonly shares: Float64Array;
  /** Prices in the currencies of the securities, [H]. */
  readonly price: Float64Array;
  /** Exchange rates into the currency of the index, [H]. */
  readonly fx: Float64Array;
}

/** The index on a session, with the return variant of its level. */
export interface SessionFile extends IndexFile {
  readonly variant: ReturnVariant;
}

/**
 * Returns an index at the close of a session. Index shares, prices and divisor are those before the events of the
 * close. On the first session, and if dividends change index shares, they are those after it.
 * @param asOf date YYYY-MM-DD: the last session on or before it is used; null for the last session
 * @param market source of spun-off securities; null if it is not served
 * @throws Refusal NO_DATA_AT_DATE
 */
export function createClosingFile(columns: RunColumns, asOf: string | null, market: MarketData | null): SessionFile {
  const run = readRun(columns);
  const position = computePosition(run, asOf);
  const close = { ...readDay(run, position), price: readPricesAt(run, position), fx: readRatesAt(run, position) };
  if (position === 0 || !run.sharesAreKept) {
    const after = { ...close, divisor: run.divisor[position]!, shares: computeSharesAfter(run, position) };
    return appendCash(after, computeCashAfter(run, position), columns);
  }
  const { divisor, cash, shares: opened } = openIndexAt(run, position, market); // Cash of an index without an overlay earns no interest.
  const shares = run.sharesAt === undefined ? opened : listSharesAtClose(opened, run.sharesAt(position, 'close'));
  const file = { ...close, shares, divisor, cash };
  return appendCash({ ...file, price: computeValuationPrices(run, position, file) }, cash, columns);
}

/**
 * Returns the day of a file: the last session on or before a date, or the last session if the date is null.
 * @throws Refusal NO_DATA_AT_DATE
 */
export function findFileDay(columns: RunColumns, asOf: string | null): Day {
  const run = readRun(columns);
  return run.days[computePosition(run, asOf)]!;
}

/**
 * Returns an index before the open of a session. It is the composition after the trades of the previous close. The
 * changes of share counts and the corporate actions of the session are applied.
 * @throws Refusal NO_DATA_AT_DATE for the first session, which has no previous close
 */
export function createOpeningFile(columns: RunColumns, asOf: string | null, market: MarketData | null): SessionFile {
  const run = readRun(columns);
  const position = computePosition(run, asOf);
  if (position > 0) {
    const { cash, ...file } = openIndexAt(run, position, market);
    return appendCash(file, cash, columns);
  }
  const firstDate = formatDay(run.days[0]!);
  throw new Refusal(
    'NO_DATA_AT_DATE',
    `The index starts at the close of ${firstDate}, so there is no opening file for that day.`,
  );
}

interface RunReader {
  readonly columns: RunColumns;
  readonly days: Int32Array;
  /** Level of each session, [T]. Then the divisor, and the exact divisor divided by the rounded one. */
  readonly level: Float64Array;
  readonly divisor: Float64Array;
  readonly exact: Float64Array | null;
  readonly effects: readonly RunEffect[];
  /** Changes of share counts that the index applied between its reviews. */
  readonly counts: readonly CountChange[];
  /** Returns the stored index shares at a moment, [H]; undefined if the run stores none. */
  readonly sharesAt: ((position: number, moment: ShareMoment) => Float64Array) | undefined;
  /** True if dividends leave index shares unchanged. */
  readonly sharesAreKept: boolean;
  readonly variant: ReturnVariant;
}

function readRun(columns: RunColumns): RunReader {
  const days = columns.i32('days');
  const sharesAreKept = columns.has('dividendPoints');
  const variant = sharesAreKept && columns.has('levelPrice') ? 'price' : columns.header.variant;
  const blocks = VARIANT_BLOCKS[variant];
  return {
    columns,
    days,
    level: readIndexSeries(columns, blocks.level, days),
    divisor: readIndexSeries(columns, blocks.divisor, days),
    exact: columns.has('exactDivisor') ? readIndexSeries(columns, 'exactDivisor', days) : null,
    effects: listRunEffects(columns),
    counts: listCountChanges(columns),
    sharesAt: createStoredShares(columns),
    sharesAreKept,
    variant,
  };
}

const readDay = ({ days, columns, variant }: RunReader, position: number) => ({
  day: days[position]!,
  names: columns.header.names,
  variant,
});

function computePosition({ days }: RunReader, asOf: string | null): number {
  const position = asOf === null ? days.length - 1 : findLastAtMost(days, parseValidDay(asOf));
  if (position >= 0) return position;
  const message = `${asOf} is before the first session of the run, ${formatDay(days[0]!)}.`;
  throw new Refusal('NO_DATA_AT_DATE', message);
}

/** Returns the weights after a close and its trades, [H]. */
function readWeightsAfter({ columns }: RunReader, position: number): Float64Array {
  const { names, has_index_weights: isSeparate } = columns.header;
  const H = names.length;
  return columns.f64(isSeparate ? 'indexWeights' : 'weights', position * H, (position + 1) * H);
}

/** Returns the market value of an index after a close, including cash. */
const computeMarketValueAt = ({ level, divisor, exact }: RunReader, position: number): number =>
  level[position]! * divisor[position]! * (exact?.[position] ?? 1);

/** Returns the cash after a close and its trades; negative if money is borrowed. */
function computeCashAfter(run: RunReader, position: number): number {
  return computeUninvestedCash(readWeightsAfter(run, position), computeMarketValueAt(run, position));
}

/** Returns the part of a market value that the weights do not invest. */
function computeUninvestedCash(weights: Float64Array, marketValue: number): number {
  const cashWeight = computeCashWeight(weights);
  return cashWeight === 0 ? 0 : cashWeight * marketValue;
}

/** Adds cash to a file as an entry with the price 1 in the currency of the index. */
function addCash<F extends IndexFile>(file: F, cash: number, currency: string): F {
  if (cash === 0) return file;
  const add = (values: Float64Array, value: number): Float64Array => Float64Array.of(...values, value);
  const { names, shares, price, fx } = file;
  return {
    ...file,
    names: [...names, formatCashName(currency)],
    shares: add(shares, cash),
    price: add(price, 1),
    fx: add(fx, 1),
  };
}

const appendCash = <F extends IndexFile>(file: F, cash: number, { header }: RunColumns): F =>
  addCash(file, cash, header.currency);

function computeSharesAfter(run: RunReader, position: number): Float64Array {
  const stored = run.sharesAt?.(position, 'after');
  const { header } = run.columns;
  const marketValue = computeMarketValueAt(run, position);
  const [price, fx] = [readPricesAt(run, position), readRatesAt(run, position)];
  const { shares: decimals } = findRunSettings(header, run.days[position]! + 1).rounding;
  return readWeightsAfter(run, position).map((weight, i) => {
    if (weight === 0 || stored?.[i]) return weight === 0 ? 0 : stored![i]!;
    const shares = (weight * marketValue) / (price[i]! * fx[i]!);
    return roundToWholeShares(shares, decimals);
  });
}

/** Returns the stored index shares at a close. Securities that were spun off on the session are not stored yet. */
function listSharesAtClose(opened: Float64Array, stored: Float64Array): Float64Array {
  return stored.map((shares, i) => shares || opened[i]!);
}

/** Maximum relative rounding error of index shares computed from weights. */
const SHARE_NOISE = 1e-9;

/** Returns true if index shares equal their rounded value. Index shares of a price-weighted index are not rounded. */
function areRounded(shares: number, decimals: number | undefined): boolean {
  return decimals !== undefined && shares === roundHalfAwayFromZero(shares, decimals);
}

/** Removes the rounding error of weights from index shares, if the index rounds index shares. */
function roundToWholeShares(shares: number, decimals: number | undefined): number {
  if (decimals === undefined || shares === 0) return shares;
  const roundedShares = roundHalfAwayFromZero(shares, decimals);
  return Math.abs(roundedShares / shares - 1) < SHARE_NOISE ? roundedShares : shares; // price-weighted index shares, which are not rounded, stay unchanged
}

/**
 * Returns the index after the previous close. The changes of share counts and the corporate actions of the session are
 * applied.
 */
function openIndexAt(run: RunReader, row: number, market: MarketData | null): CashFile {
  const { header } = run.columns;
  const { treatment, rounding } = findRunSettings(header, run.days[row]!);
  const terms = readRunShareTerms(treatment);
  const [shares, price, fx] = [computeSharesAfter(run, row - 1), readPricesAt(run, row - 1), readRatesAt(run, row - 1)];
  const cash = computeCashAfter(run, row - 1);
  const previousValue = computeMarketValue(shares, price, fx) + cash;
  let after = previousValue;
  for (const { name, at: t, factor } of run.counts) {
    if (t !== row || shares[name] === 0) continue;
    const keptShares = shares[name]! * factor;
    const next = areRounded(shares[name]!, rounding.shares) ? roundValue(keptShares, rounding.shares) : keptShares;
    after += (next - shares[name]!) * price[name]! * fx[name]!;
    shares[name] = next;
  }
  const children = getChildren(run, { at: row, shares }, market);
  for (const { name, at: t, effect } of run.effects) {
    if (t !== row || shares[name] === 0 || Number.isNaN(price[name]!)) continue;
    const close = price[name]!;
    after += shares[name]! * close * fx[name]! * (computeOpeningFactor(effect, close, terms) - 1);
    const keptShares = shares[name]! * computeShareFactor(effect, close, terms);
    shares[name] = areRounded(shares[name]!, rounding.shares) ? roundValue(keptShares, rounding.shares) : keptShares;
    after += (shares[name]! - keptShares) * adjustClose(effect, close) * fx[name]!;
    price[name] = adjustClose(effect, close);
  }
  for (const [name, held] of children) {
    shares[name] = held;
    price[name] = 0;
  }
  run.sharesAt?.(row, 'opening').forEach((stored, name) => {
    if (stored !== 0 && !children.has(name)) shares[name] = stored;
  });
  const exactDivisor =
    after === previousValue ? run.divisor[row - 1]! : (run.divisor[row - 1]! * after) / previousValue;
  const divisor = roundValue(exactDivisor, after === previousValue ? undefined : rounding.divisor);
  return { ...readDay(run, row), divisor, shares, price, fx, cash };
}

const roundValue = (value: number, decimals: number | undefined): number =>
  decimals === undefined ? value : roundHalfAwayFromZero(Number(value.toPrecision(13)), decimals);

function computeMarketValue(shares: Float64Array, price: Float64Array, fx: Float64Array): number {
  return shares.reduce((sum, count, i) => (count === 0 ? sum : sum + count * price[i]! * fx[i]!), 0);
}

/** A file with its cash as a separate field. */
interface CashFile extends SessionFile {
  readonly cash: number;
}

interface Opening {
  readonly at: number;
  /** Index shares after the previous close, [H]. */
  readonly shares: Float64Array;
}

/** Returns the index shares of securities that are spun off on a session and kept, by position of the security. */
function getChildren(
  { columns, days }: RunReader,
  { at, shares }: Opening,
  market: MarketData | null,
): ReadonlyMap<number, number> {
  const children = new Map<number, number>();
  const { names, treatment } = columns.header;
  if (market === null) return children;
  const positionByName = new Map(names.map((name, position) => [name, position]));
  for (const action of market.actions) {
    const { type, status, identifier, exDay } = action;
    if (type !== 'SPIN_OFF' || status === 'cancelled' || exDay <= days[at - 1]! || exDay > days[at]!) continue;
    const spunOff = readSpinOff(action, { ...treatment, adjustment: market.adjustment });
    const parent = positionByName.get(identifier);
    const child = spunOff === null ? undefined : positionByName.get(spunOff.identifier);
    if (spunOff !== null && parent !== undefined && child !== undefined && shares[parent] !== 0)
      children.set(child, shares[child]! + shares[parent]! * spunOff.ratio);
  }
  return children;
}

/** Returns the prices that value the holdings on a session. A security that leaves has the price of its proceeds. */
function computeValuationPrices(run: RunReader, position: number, file: CashFile): Float64Array {
  const { columns } = run;
  const { header } = columns;
  if (header.has_index_weights) return computeSettlementPrices(run, position, file);
  const { shares, divisor, price, fx } = file;
  const event = columns.i32('eventAt').indexOf(position);
  if (event < 0) return price;
  const H = header.names.length;
  const weightsBefore = columns.f64('before', event * H, (event + 1) * H);
  const marketValue = run.level[position]! * divisor;
  return price.map((close, i) => {
    if (shares[i] === 0 || weightsBefore[i] === 0) return close;
    const impliedPrice = (weightsBefore[i]! * marketValue) / (shares[i]! * fx[i]!);
    return Math.abs(impliedPrice / close - 1) > PRICE_TOLERANCE ? impliedPrice : close;
  });
}

/**
 * Returns the valuation prices of an index whose weights before trades are not stored, because a portfolio is stored
 * with it. If the closes do not explain the whole market value, the rest is attributed to the securities that leave, in
 * proportion to the values at their last closes.
 */
function computeSettlementPrices(
  run: RunReader,
  position: number,
  { shares, divisor, price, fx, cash }: CashFile,
): Float64Array {
  const marketValue = run.level[position]! * divisor;
  const missingCash = marketValue - cash - computeMarketValue(shares, price, fx);
  if (!(Math.abs(missingCash / marketValue) > PRICE_TOLERANCE)) return price;
  const closes = run.columns.f64('price', position * shares.length, (position + 1) * shares.length);
  const after = computeSharesAfter(run, position);
  const exitMask = shares.map((count, i) => (count !== 0 && after[i] === 0 ? 1 : 0));
  const endMask = exitMask.map((isExit, i) => (Number.isNaN(closes[i]!) ? isExit : 0));
  const mask = endMask.includes(1) ? endMask : exitMask; // only securities without a close, because a review may sell other securities at the same close
  const value = computeMarketValue(
    shares.map((count, i) => count * mask[i]!),
    price,
    fx,
  );
  return value === 0 ? price : price.map((close, i) => (mask[i] === 1 ? close * (1 + missingCash / value) : close));
}

/** Relative difference from the closes up to which securities are valued at their closes. */
const PRICE_TOLERANCE = 1e-9;

/** Announced composition of an index at a close. Index shares are scaled to the market value of the index. */
export interface AnnouncedFile extends IndexFile {
  readonly effective: Day;
}

/**
 * Returns the pro forma file of an index on a session.
 * @param composer composer without data after the session
 * @throws Refusal NO_DATA_AT_DATE if nothing is announced
 * @cost decides and simulates the index up to the session
 */
export function createAnnouncedFile(composer: Composer, { indexId, day }: IndexOnDay): AnnouncedFile {
  const document = composer.document(indexId);
  if (isOverlayDocument(document)) throw createOverlayRefusal(indexId, listSources(document));
  const sm = composer.market(indexId);
  const session = sm.sessionAt(day);
  const announcedIndex = findAnnouncedIndex(composer, { indexId, session });
  if (announcedIndex.effective === null) throw createNotAnnounced(indexId, day, announcedIndex);
  const { effective, compositions } = announcedIndex;
  const composition = compositions.list.at(-1)!;
  const book = simulateIndexBook({ compositions, to: session });
  const { shares } = createIndexShares(book, compositions)(composition);
  const { shares: decimals } = findRounding(createDatedRounding(document, sm.calendar), day + 1);
  const rates = createExchangeRates(sm, document.currency);
  const growth = createIndexTerms(compositions);
  const { columns } = composition;
  const order = [...columns.keys()].toSorted((a, b) => (getName(a) < getName(b) ? -1 : 1));
  const computeColumn = (value: (position: number) => number): Float64Array => Float64Array.from(order, value);
  function getName(position: number): string {
    return sm.identifiers[columns[position]!]!;
  }
  const file = {
    day,
    effective,
    divisor: book.divisor[session - book.from]!,
    names: order.map(getName),
    shares: computeColumn((k) => roundToWholeShares(shares![k]!, decimals)), // only an overlay has no index shares
    price: computeColumn((k) => readCarriedClose(sm, growth, session, columns[k]!)),
    fx: computeColumn((k) => (rates.isNative(columns[k]!) ? 1 : rates.rateAt(session, columns[k]!))),
  };
  const weights = computeColumn((k) => composition.weights[k]!);
  const firstHeldPosition = weights.findIndex((weight) => weight !== 0);
  const marketValue =
    firstHeldPosition < 0
      ? 0
      : (file.shares[firstHeldPosition]! * file.price[firstHeldPosition]! * file.fx[firstHeldPosition]!) /
        weights[firstHeldPosition]!;
  return addCash(file, computeUninvestedCash(weights, marketValue), document.currency);
}

interface IndexOnDay {
  readonly indexId: string;
  /** Session of the index. */
  readonly day: Day;
}

function createNotAnnounced(indexId: string, day: Day, { next }: UnannouncedIndex): Refusal {
  const comingText =
    next === undefined
      ? 'its calendar has no later rebalance'
      : `the next one, effective on ${formatDay(next.date)}, is announced on ${formatDay(findAnnouncement(next))}`;
  return new Refusal(
    'NO_DATA_AT_DATE',
    `No rebalance of ${indexId} is announced on ${formatDay(day)}: ${comingText}.`,
    {
      as_of: formatDay(day),
      announced: next === undefined ? null : formatDay(findAnnouncement(next)),
      effective: next === undefined ? null : formatDay(next.date),
    },
  );
}

function createOverlayRefusal(indexId: string, sources: readonly string[]): Refusal {
  const message = `${indexId} is an overlay and announces no composition. Request the file of ${sources.join(' or ')}.`;
  return new Refusal('NO_DATA_AT_DATE', message, { sources });
}
