import { decodeUtf8 } from '#base/bytes.js';
import { EFFECT_WIDTH } from '#domain/backtest/run-file/block.js';
import {
  type BlockName,
  DETACHMENT_WIDTH,
  DISTRIBUTION_WIDTH,
  type RunLabels,
  SHARE_CHANGE_WIDTH,
  SHARE_FRACTION_WIDTH,
  SHORT_CASH_WIDTH,
  TRANSFER_WIDTH,
  VARIANT_BLOCKS,
} from '#domain/backtest/run-file/blocks.js';
import { findRunSettings } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import type { Finding } from '#domain/base/findings.js';
import { findFirstAtLeast, findLastAtMost, roundHalfAwayFromZero } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { spreadRounding } from '#domain/books/book.js';
import { NO_EFFECT, type SessionEffect } from '#domain/market/action-effects.js';
import type { MeasuredVariant } from '#domain/market/market-data.js';

/** Returns the fraction of its weight that every security kept when share counts changed, by position of the date. */
function listUnchangedWeights(columns: RunColumns): ReadonlyMap<number, number> {
  const rows = columns.has('keptShares') ? columns.f64('keptShares') : new Float64Array(0);
  return new Map(
    Array.from({ length: rows.length / SHARE_FRACTION_WIDTH }, (_, i) => [
      rows[SHARE_FRACTION_WIDTH * i]!,
      rows[SHARE_FRACTION_WIDTH * i + 1]!,
    ]),
  );
}

/**
 * Change of the index shares of a security on a date. The factor is the index shares after the change divided by those
 * before it.
 */
export interface CountChange {
  readonly at: number;
  readonly name: number;
  readonly factor: number;
}

/** Returns the changes of share counts in a stored run, by date. */
export function listCountChanges(columns: RunColumns): CountChange[] {
  if (!columns.has('shareChanges')) return [];
  const rows = columns.f64('shareChanges');
  return Array.from({ length: rows.length / SHARE_CHANGE_WIDTH }, (_, i) => {
    const [name, at, before, after] = rows.subarray(SHARE_CHANGE_WIDTH * i, SHARE_CHANGE_WIDTH * (i + 1));
    return { at: at!, name: name!, factor: after! / before! };
  });
}

/**
 * Returns a finding if some levels include dividends and others do not. Raw series are ignored, because it is unknown
 * whether they include dividends.
 */
export function findDifferingReturns(
  levels: readonly { readonly id: string; readonly name?: string; readonly variant: MeasuredVariant }[],
  path: string,
): Finding[] {
  const knownLevels = levels.filter(({ variant }) => variant !== 'raw');
  if (new Set(knownLevels.map(({ variant }) => variant)).size <= 1) return [];
  const levelsText = knownLevels.map(({ id, name = id, variant }) => `${name} ${variant}`).join(', ');
  const message = `The levels have different return variants: ${levelsText}.`;
  return [{ severity: 'warning', code: 'RETURNS_DIFFER', path, message }];
}

/** Number of panel values that are read at a time. They take 256 KB and fit into a second-level cache. */
const PART = 1 << 15;

/**
 * Reader of the rows of a stored panel. Rows must be requested in ascending order. They are read in parts into the same
 * memory.
 */
export interface PanelRows {
  /** Returns a row. The row and the row after it are valid until a later row is requested. */
  at(row: number): Float64Array;
  /** Returns the row after the last requested one. */
  next(): Float64Array;
}

/** Returns the block of the divisor that all return variants of an index publish. */
export function findPublishedDivisor(columns: RunColumns): BlockName {
  return VARIANT_BLOCKS[columns.has('publishedWeights') ? 'price' : columns.header.variant].divisor;
}

/**
 * Opens a reader of a stored panel.
 * @param rows first and last row to be requested
 */
export function openPanelRows(
  columns: RunColumns,
  block: BlockName,
  { from, to }: { readonly from: number; readonly to: number },
): PanelRows {
  const width = columns.header.names.length;
  const count = Math.max(0, Math.min(to - from + 1, Math.max(2, Math.floor(PART / width))));
  const part = new Float64Array(count * width);
  const views = Array.from({ length: count }, (_, k) => part.subarray(k * width, (k + 1) * width));
  let first = from;
  let end = from;
  let request = from;
  return {
    at(row) {
      request = row;
      if (row >= end || (row + 1 === end && row < to)) {
        first = row;
        end = Math.min(row + count, to + 1);
        columns.fill(block, first * width, part.subarray(0, (end - first) * width));
      }
      return views[row - first]!;
    },
    next: () => views[request + 1 - first]!,
  };
}

/** Figures that are rounded for publication, export and print. */
type RoundedFigure = 'level' | 'weights';

/**
 * Returns the number of decimals that the definition of the index sets for a figure on a day. Returns undefined if the
 * figure is not rounded.
 */
export function readDecimals(
  { header }: Pick<RunColumns, 'header'>,
  roundedFigure: RoundedFigure,
  day: Day,
): number | undefined {
  return findRunSettings(header, day).rounding[roundedFigure];
}

export function roundOnDay(
  columns: Pick<RunColumns, 'header'>,
  roundedFigure: RoundedFigure,
  day: Day,
): (value: number) => number {
  const decimals = readDecimals(columns, roundedFigure, day);
  return decimals === undefined ? (value) => value : (value) => roundHalfAwayFromZero(value, decimals);
}

/** Rounds each value for its day. If nothing is rounded, returns the same array. */
export function roundValues(
  columns: Pick<RunColumns, 'header'>,
  { of, days }: { readonly of: RoundedFigure; readonly days: Int32Array },
  values: Float64Array,
): Float64Array {
  const { rounding, amended } = columns.header;
  if (amended === undefined && rounding?.[of] === undefined) return values;
  if (amended === undefined) return values.map(roundOnDay(columns, of, 0));
  return values.map((value, t) => roundOnDay(columns, of, days[t]!)(value));
}

export interface RunEffect {
  /** Position of the security in the run. The next field is the position of the date. */
  readonly name: number;
  readonly at: number;
  readonly effect: SessionEffect;
  /**
   * Effect on a short position. A short position pays gross dividends. Equals `effect` if no tax is withheld or if no
   * short position was held.
   */
  readonly onShort: SessionEffect;
}

/**
 * Returns the effects of a stored run in the stored order. Effects that are stored only as distributions, or only as
 * payments of short positions, come last.
 */
export function listRunEffects(columns: RunColumns): RunEffect[] {
  const shortCashByKey = readShortCash(columns);
  const distributionByKey = listDistributions(columns);
  const detachedByKey = readDetachments(columns);
  const storedEffects = readStoredEffects(columns).map(({ name, at, effect }): RunEffect => {
    const key = computeKey(columns, { name, at });
    const { special, income, onShort } = distributionByKey.get(key) ?? NOTHING_PAID;
    const detached = detachedByKey.get(key)?.detached ?? 0;
    const cash = shortCashByKey.get(key)?.cash;
    for (const paid of [shortCashByKey, distributionByKey, detachedByKey]) paid.delete(key);
    const securityEffect = { ...effect, special, income, detached };
    const hasOwnEffect = cash !== undefined || onShort !== income;
    return {
      name,
      at,
      effect: securityEffect,
      onShort: hasOwnEffect ? { ...securityEffect, cash: cash ?? effect.cash, income: onShort } : securityEffect,
    };
  });
  const otherRunEffects = Array.from(
    distributionByKey.values(),
    ({ name, at, special, income, onShort }): RunEffect => {
      const key = computeKey(columns, { name, at });
      const effect = { ...NO_EFFECT, special, income, detached: detachedByKey.get(key)?.detached ?? 0 };
      detachedByKey.delete(key);
      return { name, at, effect, onShort: onShort === income ? effect : { ...effect, income: onShort } };
    },
  );
  const shortEffects = Array.from(shortCashByKey.values(), ({ name, at, cash }) => ({
    name,
    at,
    effect: NO_EFFECT,
    onShort: { ...createBaseEffect(columns), cash },
  }));
  const detachedEffects = Array.from(detachedByKey.values(), ({ name, at, detached }): RunEffect => {
    const effect = { ...NO_EFFECT, detached };
    return { name, at, effect, onShort: effect };
  });
  return [...storedEffects, ...otherRunEffects, ...shortEffects, ...detachedEffects];
}

/** Returns the effect of no action under the terms of a run. */
function createBaseEffect({ header: { treatment } }: RunColumns): SessionEffect {
  return treatment.reinvestment_at === 'previous_close' ? { ...NO_EFFECT, buysAt: 'previous_close' } : NO_EFFECT;
}

function readStoredEffects(columns: RunColumns): Omit<RunEffect, 'onShort'>[] {
  const rows = columns.f64('effects');
  const base = createBaseEffect(columns);
  return Array.from({ length: rows.length / EFFECT_WIDTH }, (_, i) => {
    const [name, at, ratio, cash, rights, subscription] = rows.subarray(i * EFFECT_WIDTH, (i + 1) * EFFECT_WIDTH);
    return {
      name: name!,
      at: at!,
      effect: { ...base, ratio: ratio!, cash: cash!, rights: rights!, subscription: subscription! },
    };
  });
}

interface Distribution extends Pick<RunEffect, 'name' | 'at'> {
  readonly special: number;
  readonly income: number;
  readonly onShort: number;
}

const NOTHING_PAID: Pick<Distribution, 'special' | 'income' | 'onShort'> = { special: 0, income: 0, onShort: 0 };

/** Returns the distributions that are not reinvested in the paying security. */
function listDistributions(columns: RunColumns): Map<number, Distribution> {
  const distributionByKey = new Map<number, Distribution>();
  if (!columns.has('distributions')) return distributionByKey;
  const rows = columns.f64('distributions');
  for (let row = 0; row < rows.length; row += DISTRIBUTION_WIDTH) {
    const [name, at, special, income, onShort] = rows.subarray(row, row + DISTRIBUTION_WIDTH);
    const result = { name: name!, at: at!, special: special!, income: income!, onShort: onShort! };
    distributionByKey.set(computeKey(columns, result), result);
  }
  return distributionByKey;
}

function readDetachments(
  columns: RunColumns,
): Map<number, Pick<RunEffect, 'name' | 'at'> & { readonly detached: number }> {
  const rows = columns.has('detachments') ? columns.f64('detachments') : new Float64Array(0);
  return new Map(
    Array.from({ length: rows.length / DETACHMENT_WIDTH }, (_, row) => {
      const [name, at, detached] = rows.subarray(row * DETACHMENT_WIDTH, (row + 1) * DETACHMENT_WIDTH);
      return [computeKey(columns, { name: name!, at: at! }), { name: name!, at: at!, detached: detached! }];
    }),
  );
}

interface ShortCash extends Pick<RunEffect, 'name' | 'at'> {
  readonly cash: number;
}

function readShortCash(columns: RunColumns): Map<number, ShortCash> {
  const shortCashByKey = new Map<number, ShortCash>();
  if (!columns.has('shortCash')) return shortCashByKey;
  const rows = columns.f64('shortCash');
  for (let row = 0; row < rows.length; row += SHORT_CASH_WIDTH) {
    const result = { name: rows[row]!, at: rows[row + 1]!, cash: rows[row + 2]! };
    shortCashByKey.set(computeKey(columns, result), result);
  }
  return shortCashByKey;
}

function computeKey({ header }: RunColumns, { name, at }: Pick<RunEffect, 'name' | 'at'>): number {
  return at * header.names.length + name;
}

/**
 * Returns a series of the index on consecutive dates of a run, [T]. The index has a value on every date of its run, and
 * may begin earlier.
 * @param days dates of the run. Default: all
 */
export function readIndexSeries(columns: RunColumns, block: BlockName, days = columns.i32('days')): Float64Array {
  const first = findLastAtMost(columns.i32('indexDays'), days[0]!);
  return columns.f64(block, first, first + days.length);
}

/** Levels of a stored run and of its index on the dates of the run, [T] each. */
interface RunLevelSeries {
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly index: Float64Array;
}

export function readRunLevels(columns: RunColumns): RunLevelSeries {
  const days = columns.i32('days').slice();
  return { days, level: columns.f64('level').slice(), index: readIndexSeries(columns, 'indexLevel', days).slice() };
}

/** Returns the stored labels of a run's securities; empty lists if the version of the run did not store labels. */
export function readStoredLabels(columns: RunColumns): RunLabels {
  if (!columns.has('labels')) return { names: [], sectors: [] };
  return JSON.parse(decodeUtf8(columns.u8('labels'))) as RunLabels; // this engine wrote the JSON
}

/** Requested window as dates YYYY-MM-DD. An end that was not given is null. */
export interface RequestedDates {
  readonly start: string | null;
  readonly end: string | null;
}

export function formatWindow({ start, end }: RequestedDates): string {
  const parts = [start === null ? '' : ` from ${start}`, end === null ? '' : ` to ${end}`];
  return parts.join('');
}

/** Positions of the first and last date of a window in a run. */
export interface WindowSpan {
  readonly from: number;
  readonly to: number;
}

/**
 * Restricts a window to the available dates.
 * @throws Refusal RANGE_TOO_SHORT if the window contains no complete period
 */
export function createWindowSpan(days: Int32Array, { start, end }: RequestedDates): WindowSpan {
  const from = start === null ? 0 : findFirstAtLeast(days, parseValidDay(start));
  const to = end === null ? days.length - 1 : findLastAtMost(days, parseValidDay(end));
  if (to - from >= 1) return { from, to };
  const firstDate = formatDay(days[0]!);
  const lastDate = formatDay(days.at(-1)!);
  throw new Refusal(
    'RANGE_TOO_SHORT',
    `start ${start ?? firstDate} to end ${end ?? lastDate} contains ${Math.max(0, to - from + 1)} dates of the run, which covers ${firstDate} to ${lastDate}; at least 2 are required.`,
  );
}

/**
 * Returns the dates of a run within a window.
 * @throws Refusal NO_DATA_IN_RANGE if there are none
 */
export function findDatesWithin(days: Int32Array, { start, end }: RequestedDates): WindowSpan {
  const from = start === null ? 0 : findFirstAtLeast(days, parseValidDay(start));
  const to = end === null ? days.length - 1 : findLastAtMost(days, parseValidDay(end));
  if (to >= from) return { from, to };
  const [first, last] = [formatDay(days[0]!), formatDay(days.at(-1)!)];
  const message = `The run covers ${first} to ${last} and has no date${formatWindow({ start, end })}.`;
  throw new Refusal('NO_DATA_IN_RANGE', message);
}

/** Reader of the periods of a window. Periods must be read in ascending order. */
export interface RunWindow {
  /**
   * Growth of each security over the periods in which it was held, [H]. It is complete after the contributions of all
   * periods were read.
   */
  readonly growth: Float64Array;
  /**
   * 1 for a security with a weight before the trades of an event or at the end of the window, [H]. It is complete after
   * the contributions of all periods were read.
   */
  readonly came: Uint8Array;
  /** Returns the weights of a period, valid until the next period is read. */
  weightsAt(period: number): Float64Array;
  /** Returns the contributions of a period, valid until the next period is read. */
  computeContributions(period: number): Float64Array;
  /**
   * Returns the contributions of the overlay parts in the order of `header.parts`. They are valid until the next period
   * is read.
   */
  getParts(period: number): Float64Array;
  computeCost(period: number): number;
}

interface WindowOptions {
  /** Reader of the weights in the window, if the caller shares it. */
  readonly weights?: PanelRows;
  /** True if the growth of the securities is computed. Default: true. */
  readonly follow?: boolean;
}

/**
 * Opens the periods of a window. Period p runs from date `from + p` to the next date.
 * @cost reads [n x H] weights, in parts
 */
export function readWindow(
  columns: RunColumns,
  { from, to }: WindowSpan,
  { weights = openPanelRows(columns, 'weights', { from, to }), follow = true }: WindowOptions = {},
): RunWindow {
  const { header } = columns;
  const H = header.names.length;
  const priceGrowth = columns.f64(columns.has('drift') ? 'drift' : 'gross', from, to + 1);
  const roundedGrowth = columns.has('exactDivisor') ? columns.f64('gross', from, to + 1) : null;
  const value = columns.f64('value', from, to + 1);
  const costs = columns.f64('costs', from, to + 1);
  const eventAt = columns.i32('eventAt');
  const firstEvent = findFirstAtLeast(eventAt, from + 1);
  const endEvent = findLastAtMost(eventAt, to) + 1;
  const events = { from: firstEvent, to: endEvent - 1 };
  const weightsBefore = openPanelRows(columns, 'before', events);
  const eventCosts = header.has_costs ? openPanelRows(columns, 'eventCosts', events) : null;
  const width = columns.has('ownParts') ? header.parts!.length : 0; // the parts in the header and their returns are stored together
  const ownParts = width === 0 ? NO_PARTS : columns.f64('ownParts', from * width, (to + 1) * width);
  const growth = new Float64Array(H).fill(1);
  const isNew = new Uint8Array(H);
  const parts = new Float64Array(H);
  const transfers = createTransferReader(columns, from);
  const keptOn = listUnchangedWeights(columns);
  let event = firstEvent;
  return {
    growth,
    came: isNew,
    weightsAt: (period) => weights.at(from + period),
    computeContributions(period) {
      const position = from + period + 1;
      while (event < endEvent && eventAt[event]! < position) event++;
      const hasEvent = event < endEvent && eventAt[event] === position;
      const heldWeights = weights.at(position - 1);
      const after = weights.next();
      const driftedWeights = hasEvent ? weightsBefore.at(event) : after;
      const drift = {
        held: heldWeights,
        drifted: driftedWeights,
        factor: priceGrowth[period + 1]!,
        kept: keptOn.get(position) ?? 1,
      };
      if (follow) contributeAndGrow(parts, growth, drift);
      else computeContributions(parts, drift);
      transfers.addTo(parts, position, follow ? { growth, ...drift } : null);
      if (roundedGrowth !== null) {
        const rounding = spreadRounding(parts, heldWeights, roundedGrowth[period + 1]!);
        if (follow && rounding !== 0) growByRounding(growth, { parts, rounding, ...drift });
      }
      if (hasEvent && eventCosts) subtract(parts, eventCosts.at(event));
      if (hasEvent) markHoldings(isNew, driftedWeights);
      if (position === to) markHoldings(isNew, after);
      return parts;
    },
    getParts: (period) => ownParts.subarray((period + 1) * width, (period + 2) * width),
    computeCost: (period) => costs[period + 1]! / value[period]!,
  };
}

const NO_PARTS = new Float64Array(0);

/** Weights at the start of a period, and drifted weights at its end, [H] each. */
interface DriftedWeights {
  readonly held: Float64Array;
  readonly drifted: Float64Array;
  /** Growth of the whole portfolio over the period. */
  readonly factor: number;
  /** Fraction of its weight that every security kept when share counts changed; 1 without a change. */
  readonly kept: number;
}

/** Maximum relative rounding error of a weight times the growth of the portfolio. A price has at most 15 digits. */
const WEIGHT_NOISE = 2e-15;

/** Returns the contribution of a weight that drifted. It is 0 if the price did not move. */
function computeContribution(grownWeight: number, weight: number): number {
  const contribution = grownWeight - weight;
  return Math.abs(contribution) <= WEIGHT_NOISE * Math.abs(weight) ? 0 : contribution;
}

function computeContributions(parts: Float64Array, { held, drifted, factor, kept }: DriftedWeights): void {
  for (let i = 0; i < parts.length; i++) parts[i] = computeContribution(drifted[i]! * factor, held[i]! * kept);
}

function subtract(parts: Float64Array, transfers: Float64Array): void {
  for (let i = 0; i < parts.length; i++) parts[i]! -= transfers[i]!;
}

function contributeAndGrow(
  parts: Float64Array,
  growth: Float64Array,
  { held, drifted, factor, kept }: DriftedWeights,
): void {
  for (let i = 0; i < parts.length; i++) {
    const weight = held[i]! * kept;
    const grownWeight = drifted[i]! * factor;
    parts[i] = computeContribution(grownWeight, weight);
    if (parts[i] !== 0 && weight !== 0) growth[i]! *= grownWeight / weight;
  }
}

interface RoundedSecurities extends DriftedWeights {
  readonly parts: Float64Array;
  /** Part of each contribution per unit of absolute weight that is a rounding difference of cash. */
  readonly rounding: number;
}

/** Corrects the growth of the securities over which the rounding difference of cash was spread. */
function growByRounding(growth: Float64Array, { parts, held, kept, rounding }: RoundedSecurities): void {
  for (let i = 0; i < parts.length; i++) {
    const spread = Math.abs(held[i]!) * rounding;
    const worth = held[i]! * kept + parts[i]!;
    if (spread !== 0 && worth !== spread) growth[i]! *= worth / (worth - spread);
  }
}

interface Transfers {
  /**
   * Adds what securities earned other than by price changes, in the period that ends at a date. If `growth` is given,
   * the growth of the securities is corrected as well.
   */
  addTo(parts: Float64Array, offset: number, growth: GrownSecurities | null): void;
}

interface GrownSecurities extends DriftedWeights {
  readonly growth: Float64Array;
}

/** Returns a reader of the dividends and close adjustments of a run. Dates must be requested in ascending order. */
function createTransferReader(columns: RunColumns, firstPosition: number): Transfers {
  const rows = columns.has('transfers') ? columns.f64('transfers') : NO_PARTS;
  let row = 0;
  while (row < rows.length && rows[row + 1]! <= firstPosition) row += TRANSFER_WIDTH;
  return {
    addTo(parts, position, grownSecurities) {
      while (row < rows.length && rows[row + 1]! < position) row += TRANSFER_WIDTH;
      for (; row < rows.length && rows[row + 1] === position; row += TRANSFER_WIDTH) {
        const [name, , dividends, moved] = rows.subarray(row, row + TRANSFER_WIDTH);
        parts[name!]! += dividends! + moved!;
        if (grownSecurities !== null) correctGrowth(grownSecurities, name!, { dividends: dividends!, moved: moved! });
      }
    },
  };
}

/**
 * Corrects the growth of a security. A dividend, and a weight that was adjusted at the start of the period, change it.
 */
function correctGrowth(
  { growth, held, drifted, factor, kept }: GrownSecurities,
  name: number,
  { dividends, moved }: { readonly dividends: number; readonly moved: number },
): void {
  const weight = held[name]! * kept;
  const grownWeight = drifted[name]! * factor;
  if (weight === 0 || grownWeight === 0) return;
  growth[name]! *= (((grownWeight + dividends) / grownWeight) * weight) / (weight - moved);
}

function markHoldings(isNew: Uint8Array, weights: Float64Array): void {
  for (let i = 0; i < weights.length; i++) if (weights[i] !== 0) isNew[i] = 1;
}

/**
 * Returns the positions of the dates in a window; `to` is exclusive. If the window contains no date, the span is empty.
 */
export function createSpan(
  days: Int32Array,
  { start, end }: RequestedDates,
): { readonly from: number; readonly to: number } {
  const from = start === null ? 0 : findFirstAtLeast(days, parseValidDay(start));
  const to = end === null ? days.length : findLastAtMost(days, parseValidDay(end)) + 1;
  return { from, to: Math.max(from, to) };
}
