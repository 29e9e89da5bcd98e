import { decodeUtf8 } from '#base/memory.js';
import {
  type BlockName,
  DETACHMENT_WIDTH,
  DISTRIBUTION_WIDTH,
  type RunLabels,
  SHARE_CHANGE_WIDTH,
  SHARE_FRACTION_WIDTH,
  SHORT_CASH_WIDTH,
  VARIANT_BLOCKS,
} from '#domain/backtest/run-file/blocks.js';
import { findRunSettings } from '#domain/backtest/run-file/header.js';
import { EFFECT_WIDTH } from '#domain/backtest/run-file/block.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { Finding } from '#domain/base/findings.js';
import { findLastAtMost, roundHalfAwayFromZero } from '#domain/base/numbers.js';
import type { Day } from '#domain/base/time.js';
import { NO_EFFECT, type SessionEffect } from '#domain/market/action-effects.js';
import type { MeasuredVariant } from '#domain/market/market-data.js';

/** Returns the fraction of its weight that every security kept when share counts changed, by position of the date. */
export function listUnchangedWeights(columns: RunColumns): ReadonlyMap<number, number> {
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
