import { VARIANT_BLOCKS } from '#domain/backtest/run-file/blocks.js';
import { findRunSettings, readRunShareTerms } from '#domain/backtest/run-file/header.js';
import { openRecordParts, type RunColumns } from '#domain/backtest/run-file/columns.js';
import {
  computeBoughtValue,
  computeGrowthStep,
  computeOpeningFactor,
  NO_EFFECT,
  type SessionEffect,
  type ShareTerms,
} from '#domain/market/action-effects.js';
import type { ExportTableName } from '#domain/outputs/exports.js';
import { createUncached, type DatedFigures } from './dated-figures.js';
import { type ExportSource, type Producer, yieldBatches } from './formats/batch.js';
import { createSpan, listCountChanges, listRunEffects, readIndexSeries, type RunEffect } from './run-columns.js';

/**
 * Returns the numeric columns of a table from a cache. An export of the same window in another format may have filled
 * it.
 * @param width number of columns
 */
export function findCachedColumns(
  { window, keep }: Pick<ExportSource, 'window' | 'keep'>,
  { table, width }: { readonly table: ExportTableName; readonly width: number },
  computeColumns: () => readonly Float64Array[],
): readonly Float64Array[] {
  const cacheFigures = keep?.(null) ?? createUncached;
  const cacheKey = ['export', table, window.start, window.end];
  const rows = cacheFigures([...cacheKey, 'rows'], { width: 1, dates: 1 });
  if (rows.known[0] === 1) {
    const count = rows.values[0]!;
    const result = cacheFigures(cacheKey, computeSize(count, width));
    if (result.known[0] === 1) return listColumns(result, count, width);
  }
  const outcome = computeColumns();
  const count = outcome[0]!.length;
  const { values, known } = cacheFigures(cacheKey, computeSize(count, width));
  outcome.forEach((column, c) => values.set(column, c * count));
  known[0] = 1;
  rows.values[0] = count;
  rows.known[0] = 1;
  return outcome;
}

/**
 * Returns the size of a cache entry. Each row of the table uses one date of the entry. An empty table uses one date as
 * well, so that it counts as cached.
 */
const computeSize = (count: number, width: number) => ({ width, dates: Math.max(1, count) });

const listColumns = ({ values }: DatedFigures, count: number, width: number) =>
  Array.from({ length: width }, (_, c) => values.subarray(c * count, (c + 1) * count));

const EVENT_TYPES = ['split', 'cash', 'rights', 'exit', 'special_dividend', 'dividend', 'share_change'] as const;
type EventType = (typeof EVENT_TYPES)[number];

interface EventRow {
  readonly at: number;
  /** Position of the security in the run. */
  readonly name: number;
  readonly type: EventType;
  readonly value: number;
  readonly effect: number;
}

export const produceEvents: Producer<'events'> = (source, from) => {
  const { columns } = source;
  const days = columns.i32('days');
  const divisor = readDivisors(columns, days);
  const cachedColumns = findCachedColumns(source, { table: 'events', width: 5 }, () =>
    listFigures(source, { days, divisor }),
  );
  const [at, name, type, value, effect] = cachedColumns as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ]; // width of the cached columns
  return yieldBatches<'events'>(
    {
      count: at.length,
      columns: {
        date: Int32Array.from(at, (t) => days[t]!),
        identifier: { codes: Int32Array.from(name), texts: columns.header.names },
        type: { codes: Int32Array.from(type), texts: EVENT_TYPES },
        per_share: value,
        effect,
        divisor_before: at.map((t) => divisor[t - 1]!),
        divisor_after: at.map((t) => divisor[t]!),
      },
    },
    from,
  );
};

interface RunDates {
  readonly days: Int32Array;
  readonly divisor: Float64Array;
}

function listFigures({ columns, window }: ExportSource, { days, divisor }: RunDates): Float64Array[] {
  const { from, to } = createSpan(days, window);
  const rows = listEventRows(columns, { from: Math.max(1, from), to, divisor });
  const readNumbers = (readRow: (row: EventRow) => number): Float64Array => Float64Array.from(rows, readRow);
  return [
    readNumbers(({ at }) => at),
    readNumbers(({ name }) => name),
    readNumbers(({ type }) => EVENT_TYPES.indexOf(type)),
    readNumbers(({ value }) => value),
    readNumbers(({ effect }) => effect),
  ];
}

/** Returns the divisor of the index for the index's own return variant, on the dates of the run, [T]. */
export function readDivisors(columns: RunColumns, days: Int32Array): Float64Array {
  return readIndexSeries(columns, VARIANT_BLOCKS[columns.header.variant].divisor, days);
}

/**
 * Returns true if the divisor is always 1. For example, events of its underlying index do not change the divisor of an
 * overlay.
 */
export function isDivisorFixed({ header }: RunColumns): boolean {
  return header.parts !== undefined;
}

interface EventSpan {
  /** Positions of the dates; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  readonly divisor: Float64Array;
}

/**
 * Returns the events, sorted by date and then by security.
 * @cost reads [H] weights for each date with an event
 */
function listEventRows(columns: RunColumns, { from, to, divisor }: EventSpan): EventRow[] {
  const holdings = createHoldingsReader(columns);
  const isInRange = ({ at }: { readonly at: number }): boolean => at >= from && at < to;
  const actions = groupBy(listRunEffects(columns).filter(isInRange), ({ at }) => at);
  const exits = groupBy(listFreeTrades(columns).filter(isInRange), ({ at }) => at);
  const changes = groupBy(listCountChanges(columns).filter(isInRange), ({ at }) => at);
  const step = createGrowthReader(columns);
  const days = columns.i32('days');
  const hasFixedDivisor = isDivisorFixed(columns);
  const dates = [...new Set([...actions.keys(), ...exits.keys(), ...changes.keys()])].toSorted((a, b) => a - b);
  return dates.flatMap((offset) => {
    const before = holdings.before(offset);
    const heldChanges = (changes.get(offset) ?? []).filter(({ name }) => before.weights[name] !== 0);
    const factorByName = new Map(heldChanges.map(({ name, factor }) => [name, factor]));
    const heldActions = (actions.get(offset) ?? [])
      .filter(({ name }) => before.weights[name] !== 0)
      .map((row) => (before.weights[row.name]! < 0 ? { ...row, effect: row.onShort } : row));
    const rows = heldActions.flatMap((row) =>
      createActionRows(row, {
        ...step(row),
        weight: before.isIndex
          ? ((factorByName.get(row.name) ?? 1) * before.weights[row.name]!) / before.growth
          : Number.NaN,
        held: before.isIndex ? (factorByName.get(row.name) ?? 1) * before.weights[row.name]! : Number.NaN,
        terms: readRunShareTerms(findRunSettings(columns.header, days[offset]!).treatment),
      }),
    );
    for (const { name, factor } of heldChanges)
      rows.push({
        at: offset,
        name,
        type: 'share_change',
        value: factor,
        effect: before.isIndex ? before.weights[name]! * (factor - 1) : Number.NaN,
      });
    const reinvestedReturn = rows.reduce((sum, { effect }) => sum + effect, 0);
    const divisorEffect = divisor[offset]! / divisor[offset - 1]! - 1 - reinvestedReturn;
    const after = holdings.before(offset + 1).weights;
    // A security has left only if its position is closed. A merger into a held security may sell only a part of it.
    const closedExits = (exits.get(offset) ?? []).filter(
      ({ name, notional }) => before.weights[name]! * notional < 0 && after[name] === 0,
    );
    const total = closedExits.reduce((sum, { name }) => sum + before.weights[name]!, 0);
    const exitRows = closedExits.map(({ name }): EventRow => ({
      at: offset,
      name,
      type: 'exit',
      value: Number.NaN,
      effect: before.isIndex ? (total === 0 ? 0 : (divisorEffect * before.weights[name]!) / total) : Number.NaN,
    }));
    const eventRows = [...rows, ...exitRows].toSorted((a, b) => a.name - b.name);
    return hasFixedDivisor && before.isIndex ? eventRows.map((row) => ({ ...row, effect: 0 })) : eventRows;
  });
}

/**
 * Weights of the index at the previous close, [H]. For a strategy these are its own weights, which do not describe the
 * index.
 */
interface Holding {
  readonly weights: Float64Array;
  /** Growth of the index from the previous close to the close of the date. */
  readonly growth: number;
  readonly isIndex: boolean;
}

function createHoldingsReader(columns: RunColumns): { before(position: number): Holding } {
  const { names, has_index_weights: hasOwn, run_id: runId, index_id: indexId } = columns.header;
  const level = readIndexSeries(columns, 'indexLevel');
  const block = hasOwn ? 'indexWeights' : 'weights';
  return {
    before: (offset) => ({
      weights: columns.f64(block, (offset - 1) * names.length, offset * names.length),
      growth: level[offset]! / level[offset - 1]!,
      isIndex: hasOwn || runId === indexId,
    }),
  };
}

interface ActionStep {
  /** Growth of one unit of value over the session. */
  readonly factor: number;
  /** Price at the previous close; the next field is the price at the close. */
  readonly before: number;
  readonly close: number;
  /**
   * Weight at the previous close divided by the growth of the index. The next field is the weight without this
   * division.
   */
  readonly weight: number;
  readonly held: number;
  readonly terms: ShareTerms;
}

/**
 * Returns the effects of the corporate actions on a security in a session. Each row contains its share of the divisor
 * change.
 */
function createActionRows(
  { at, name, effect: own }: RunEffect,
  { factor, before, close, weight, held, terms }: ActionStep,
): EventRow[] {
  const { ratio, cash, rights, subscription, special, income } = own;
  const driftedWeight = weight * factor;
  const getOpening = (part: Partial<SessionEffect>): number =>
    held * (computeOpeningFactor({ ...NO_EFFECT, ...part }, before, terms) - 1);
  const createRow = (type: EventType, value: number, effect: number): EventRow => ({ at, name, type, value, effect });
  const rightsEffect =
    terms.rights === 'constituent'
      ? (driftedWeight * ratio * rights * subscription) / before
      : getOpening(own) - getOpening({ ratio, special });
  return [
    ...(ratio === 1 ? [] : [createRow('split', ratio, getOpening({ ratio }))]),
    ...(cash > 0
      ? [createRow('cash', cash, -computeBoughtValue(own, { before, price: close, value: driftedWeight }))]
      : []),
    ...(special > 0
      ? [createRow('special_dividend', special, getOpening({ special, ratio }) - getOpening({ ratio }))]
      : []),
    ...(income > 0 ? [createRow('dividend', income, Number.isNaN(held) ? held : 0)] : []),
    ...(rights > 0 ? [createRow('rights', rights, rightsEffect)] : []),
  ];
}

/** Returns a function that computes how a security grew over a session with corporate actions. */
function createGrowthReader(columns: RunColumns): (row: RunEffect) => Omit<ActionStep, 'weight' | 'held' | 'terms'> {
  const { names, foreign, dates } = columns.header;
  const effects = groupBy(listRunEffects(columns), ({ name }) => name);
  const closeAt = (t: number, name: number): number =>
    columns.f64('price', t * names.length + name, t * names.length + name + 1)[0]!;
  /** Returns the last close before a date. It is on the share basis of the previous date. */
  const findCarriedBefore = (offset: number, name: number): number => {
    let t = offset - 1;
    while (t > 0 && Number.isNaN(closeAt(t, name))) t--;
    const laterEffects = effects
      .get(name)!
      .filter((otherRunEffect) => otherRunEffect.at > t && otherRunEffect.at < offset);
    return laterEffects
      .toSorted((a, b) => a.at - b.at)
      .reduce((price, { effect }) => computeGrowthStep(effect, price, Number.NaN).carried, closeAt(t, name));
  };
  return ({ at, name, effect }) => {
    const previousClose = findCarriedBefore(at, name);
    const { factor, carried } = computeGrowthStep(effect, previousClose, closeAt(at, name));
    const row = foreign[String(name)];
    if (row === undefined) return { factor, before: previousClose, close: carried };
    const [from, to] = columns.f64('rates', row * dates + at - 1, row * dates + at + 1);
    return { factor: (factor * to!) / from!, before: previousClose, close: carried };
  };
}

interface FreeTrade {
  readonly at: number;
  readonly name: number;
  /** Traded value: positive if bought, negative if sold. */
  readonly notional: number;
}

/** Returns the trades without cost: those of securities that left at a close, and those of their replacements. */
export function listFreeTrades(columns: RunColumns): FreeTrade[] {
  if (!columns.has('record')) return [];
  const { identifiers, transactions } = openRecordParts(columns);
  const columnByName = new Map(columns.header.names.map((name, position) => [name, position]));
  const { at, columns: securities, notional, isFree } = transactions();
  const rows: FreeTrade[] = [];
  for (let i = 0; i < at.length; i++) {
    const name = columnByName.get(identifiers[securities[i]!]!);
    if (isFree[i] === 1 && name !== undefined) rows.push({ at: at[i]!, name, notional: notional[i]! });
  }
  return rows;
}

function groupBy<T>(items: readonly T[], getKey: (item: T) => number): ReadonlyMap<number, readonly T[]> {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const group = groups.get(getKey(item));
    if (group) group.push(item);
    else groups.set(getKey(item), [item]);
  }
  return groups;
}
