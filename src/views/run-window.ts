import { TRANSFER_WIDTH } from '#domain/backtest/run-file/blocks.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { spreadRounding } from '#domain/books/book.js';
import { listUnchangedWeights, openPanelRows, type PanelRows } from './run-columns.js';

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

export interface WindowOptions {
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
