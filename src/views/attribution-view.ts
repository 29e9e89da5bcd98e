import type { AttributionView } from '#contract/analytics.js';
import { linkContributions } from '#domain/analytics/attribution.js';
import { returnsOf } from '#domain/analytics/series.js';
import type { RunColumns } from '#domain/backtest/run-columns.js';
import { dayFrom, formatDay, formatDayTimestamp } from '#domain/days.js';
import { compareText } from '#domain/findings.js';
import { Refusal } from '#domain/refusal.js';
import { firstAtLeast, lastAtMost } from '#domain/search.js';

export interface AttributionWindow {
  /** YYYY-MM-DD, null when it was not asked for. */
  readonly start: string | null;
  readonly end: string | null;
}

/**
 * Attribution of a window of a stored run.
 * @throws Refusal RANGE_TOO_SHORT, TOTAL_LOSS
 * @cost reads [n x H] weights
 */
export function attributionView(columns: RunColumns, { start, end }: AttributionWindow): AttributionView {
  const { header } = columns;
  const days = columns.i32('days');
  const from = start === null ? 0 : firstAtLeast(days, dayFrom(start));
  const to = end === null ? days.length - 1 : lastAtMost(days, dayFrom(end));
  const periods = to - from;
  if (periods < 1) throw new Refusal('RANGE_TOO_SHORT', `The window holds ${Math.max(0, periods + 1)} dates of the run; attribution needs 2.`);
  const window = readWindow(columns, { from, to });
  const { names } = header;
  const linked = linkContributions({
    names: names.length,
    returns: returnsOf(columns.f64('level', from, to + 1)),
    weightsBefore: (period) => window.weightsAt(period),
    contributionsOf: (period) => window.contributionsOf(period),
    costOf: (period) => window.costOf(period),
    hasCosts: header.has_costs,
  });
  const contributions = names.flatMap((name, i) =>
    window.involved[i] === 0
      ? []
      : [{ asset_id: name, average_weight: linked.averageWeights[i]!, contribution: linked.contributions[i]!, total_return: window.growth[i]! - 1 }],
  );
  return {
    index_id: header.run_id,
    contributions: contributions.toSorted((a, b) => b.contribution - a.contribution || compareText(a.asset_id, b.asset_id)),
    total_return: linked.totalReturn,
    periods,
    reconciles: linked.reconciles,
    residual: linked.residual,
    cap_drag: header.has_cap ? capDrag(columns, { first: days[from]!, last: days[to]! }) : null,
    cost_drag: linked.costDrag,
    requested_start: start ?? formatDay(days[0]!),
    requested_end: end ?? formatDay(days.at(-1)!),
    start: formatDayTimestamp(days[from + 1]!),
    end: formatDayTimestamp(days[to]!),
  };
}

interface Window {
  /** Growth of each name over the periods it was held in, [H]; complete once every period was asked for. */
  readonly growth: Float64Array;
  /** 1 for names that were held or traded, [H]; complete once every period was asked for. */
  readonly involved: Uint8Array;
  weightsAt(period: number): Float64Array;
  contributionsOf(period: number): Float64Array;
  costOf(period: number): number;
}

/** Periods of a window: period p runs from date `from + p` to the next. */
function readWindow(columns: RunColumns, { from, to }: { readonly from: number; readonly to: number }): Window {
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

/** Return of the index less that of the same index on its weights before capping, both cut to the window. */
function capDrag(columns: RunColumns, { first, last }: { readonly first: number; readonly last: number }): number {
  const days = columns.i32('indexDays');
  const from = lastAtMost(days, first);
  const to = lastAtMost(days, last);
  const capped = columns.f64('indexLevel');
  const uncapped = columns.f64('uncapped');
  return capped[to]! / capped[from]! - uncapped[to]! / uncapped[from]!;
}
