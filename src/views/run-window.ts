import type { RunColumns } from '#domain/backtest/run-columns.js';
import { dayFrom, formatDay } from '#domain/days.js';
import { Refusal } from '#domain/refusal.js';
import { firstAtLeast, lastAtMost } from '#domain/search.js';

/** A window as it was asked for: YYYY-MM-DD, null where it was not. */
export interface AskedWindow {
  readonly start: string | null;
  readonly end: string | null;
}

/** First and last position of a window in the dates of a run. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A window snapped inwards to dates. @throws Refusal RANGE_TOO_SHORT when it holds no whole period */
export function windowWithin(days: Int32Array, { start, end }: AskedWindow): Span {
  const from = start === null ? 0 : firstAtLeast(days, dayFrom(start));
  const to = end === null ? days.length - 1 : lastAtMost(days, dayFrom(end));
  if (to - from >= 1) return { from, to };
  const first = formatDay(days[0]!);
  const last = formatDay(days.at(-1)!);
  throw new Refusal('RANGE_TOO_SHORT', `start ${start ?? first} to end ${end ?? last} holds ${Math.max(0, to - from + 1)} dates of the run, which is from ${first} to ${last}; an attribution needs 2.`);
}

export interface RunWindow {
  /** Growth of each name over the periods it was held in, [H]; complete once every period was asked for. */
  readonly growth: Float64Array;
  /** 1 for names that were held or traded, [H]; complete once every period was asked for. */
  readonly involved: Uint8Array;
  weightsAt(period: number): Float64Array;
  contributionsOf(period: number): Float64Array;
  costOf(period: number): number;
}

/** Periods of a window: period p runs from date `from + p` to the next. */
export function readWindow(columns: RunColumns, { from, to }: Span): RunWindow {
  const { header } = columns;
  const H = header.names.length;
  const weights = columns.f64('weights', from * H, (to + 1) * H);
  const gross = columns.f64('gross', from, to + 1);
  const value = columns.f64('value', from, to + 1);
  const costs = columns.f64('costs', from, to + 1);
  const eventAt = columns.i32('eventAt');
  const firstEvent = firstAtLeast(eventAt, from + 1);
  const endEvent = lastAtMost(eventAt, to) + 1;
  const before = columns.f64('before', firstEvent * H, endEvent * H);
  const eventCosts = header.has_costs ? columns.f64('eventCosts', firstEvent * H, endEvent * H) : null;
  const growth = new Float64Array(H).fill(1);
  const involved = new Uint8Array(H);
  const parts = new Float64Array(H);
  let event = firstEvent;
  for (let i = 0; i < weights.length; i++) if (weights[i]! > 0) involved[i % H] = 1;
  return {
    growth,
    involved,
    weightsAt: (period) => weights.subarray(period * H, (period + 1) * H),
    contributionsOf(period) {
      const at = from + period + 1;
      while (event < endEvent && eventAt[event]! < at) event++;
      const hasEvent = event < endEvent && eventAt[event] === at;
      const drifted = hasEvent ? before.subarray((event - firstEvent) * H, (event - firstEvent + 1) * H) : weights.subarray((period + 1) * H, (period + 2) * H);
      const paid = hasEvent && eventCosts ? eventCosts.subarray((event - firstEvent) * H, (event - firstEvent + 1) * H) : null;
      const factor = gross[period + 1]!;
      const row = period * H;
      for (let i = 0; i < H; i++) {
        const held = weights[row + i]!;
        const grown = drifted[i]! * factor;
        parts[i] = grown - held - (paid ? paid[i]! : 0);
        if (held > 0) growth[i]! *= grown / held;
        if (grown > 0) involved[i] = 1;
      }
      return parts;
    },
    costOf: (period) => costs[period + 1]! / value[period]!,
  };
}
