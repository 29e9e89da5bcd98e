import type { AttributionView } from '#contract/analytics/attribution.js';
import { linkContributions, type AttributionInput } from '#domain/analytics/attribution.js';
import { computeReturns } from '#domain/analytics/series.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { formatDay, formatDayTimestamp } from '#domain/time/days.js';
import { formatPartId } from '#domain/overlays/overlay-type.js';
import { compareText } from '#domain/refusals/findings.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { readWindow, createWindowSpan, type RequestedWindow, type RunWindow } from './run-window.js';

/**
 * Computes the attribution of a window of a stored run.
 * @throws Refusal RANGE_TOO_SHORT, TOTAL_LOSS
 * @cost reads [n x H] weights
 */
export function createAttributionView(columns: RunColumns, { start, end }: RequestedWindow): AttributionView {
  const { header } = columns;
  const days = columns.i32('days');
  const { from, to } = createWindowSpan(days, { start, end });
  const periods = to - from;
  const window = readWindow(columns, { from, to });
  const { names } = header;
  const { parts = [] } = header;
  const linkedAttribution = linkContributions({
    securityCount: names.length + parts.length,
    returns: computeReturns(columns.f64('level', from, to + 1)),
    days: days.subarray(from + 1, to + 1),
    ...addParts(window, names.length, parts.length),
    costOf: (period) => window.computeCost(period),
    hasCosts: header.has_costs,
  });
  const contributions = names.flatMap((name, i) =>
    linkedAttribution.averageWeights[i] === 0 && window.came[i] === 0 // never held and never traded
      ? []
      : [
          {
            asset_id: name,
            average_weight: linkedAttribution.averageWeights[i]!,
            contribution: linkedAttribution.contributions[i]!,
            total_return: window.growth[i]! - 1,
          },
        ],
  );
  const isOverlay = header.parts !== undefined;
  const sumValues = (values: Float64Array) => values.reduce((sum, value) => sum + value, 0);
  return {
    index_id: header.run_id,
    contributions: contributions.toSorted(compareContributions),
    contributions_sum: sumValues(linkedAttribution.contributions.subarray(0, names.length)),
    overlay_parts_sum: isOverlay ? sumValues(linkedAttribution.contributions.subarray(names.length)) : null,
    overlay_parts: !isOverlay
      ? null
      : parts.map(({ index_id: indexId, part }, p) => ({
          index_id: indexId,
          part,
          contribution: linkedAttribution.contributions[names.length + p]!,
        })),
    total_return: linkedAttribution.totalReturn,
    periods,
    reconciles: linkedAttribution.reconciles,
    residual: linkedAttribution.residual,
    cap_drag: header.has_cap ? computeCapDrag(columns, { first: days[from]!, last: days[to]! }) : null,
    cost_drag: linkedAttribution.costDrag,
    requested_start: start ?? formatDay(days[0]!),
    requested_end: end ?? formatDay(days.at(-1)!),
    start: formatDayTimestamp(days[from + 1]!),
    end: formatDayTimestamp(days[to]!),
  };
}

/**
 * Returns an attribution in the form of the API, whose contributions sum to the return: parts of an overlay are among
 * them, without a weight or a return.
 */
export function addPartContributions(view: AttributionView): AttributionView {
  const { overlay_parts: parts } = view;
  if (parts === null) return view;
  const rows = parts.map(({ index_id: id, part, contribution }) => ({
    asset_id: formatPartId(id, part),
    average_weight: 0,
    contribution,
    total_return: 0,
  }));
  return { ...view, contributions: [...view.contributions, ...rows].toSorted(compareContributions) };
}

type Contribution = AttributionView['contributions'][number];

const compareContributions = (a: Contribution, b: Contribution): number =>
  b.contribution - a.contribution || compareText(a.asset_id, b.asset_id);

/**
 * Returns weights and contributions: first those of the securities, then those of the overlay parts. Overlay parts have
 * no weight.
 */
function addParts(
  window: RunWindow,
  names: number,
  parts: number,
): Pick<AttributionInput, 'weightsBefore' | 'contributionsOf'> {
  if (parts === 0)
    return {
      weightsBefore: (period) => window.weightsAt(period),
      contributionsOf: (period) => window.computeContributions(period),
    };
  const weights = new Float64Array(names + parts);
  const contributions = new Float64Array(names + parts);
  return {
    weightsBefore(period) {
      weights.set(window.weightsAt(period));
      return weights;
    },
    contributionsOf(period) {
      contributions.set(window.computeContributions(period));
      contributions.set(window.getParts(period), names);
      return contributions;
    },
  };
}

/**
 * Returns how much the caps changed the return in the window: the return of the index minus the return of the same
 * index without caps.
 */
function computeCapDrag(
  columns: RunColumns,
  { first, last }: { readonly first: number; readonly last: number },
): number {
  const days = columns.i32('indexDays');
  const from = findLastAtMost(days, first);
  const to = findLastAtMost(days, last);
  const cappedLevels = columns.f64('indexLevel');
  const uncappedLevels = columns.f64('uncapped');
  return cappedLevels[to]! / cappedLevels[from]! - uncappedLevels[to]! / uncappedLevels[from]!;
}
