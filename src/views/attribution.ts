import type { AttributionView, FactorAttributionView } from '#contract/analytics/analytics.js';
import { type AttributionInput, linkContributions } from '#domain/analytics/attribution.js';
import { computeReturns } from '#domain/analytics/returns.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { compareText, type Finding } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { formatDay, formatDayTimestamp } from '#domain/base/time.js';
import { formatPartId } from '#domain/definition/overlay-type.js';
import { attributeToFactors, type AttributionModel, type FactorAttribution } from '#domain/risk/factor-attribution.js';
import type { ReturnWindow } from '#domain/risk/return-panel.js';
import { findCachedColumns } from './events.js';
import { type ExportSource, type Producer, yieldBatches } from './formats/batch.js';
import type { WithFindings } from './preview.js';
import { createWindowSpan, readWindow, type RequestedDates, type RunWindow } from './run-window.js';

/**
 * Computes the attribution of a window of a stored run.
 * @throws Refusal RANGE_TOO_SHORT, TOTAL_LOSS
 * @cost reads [n x H] weights
 */
export function createAttributionView(columns: RunColumns, { start, end }: RequestedDates): AttributionView {
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
  // A security that is received in a merger and sold at the same close has no weight at any close, but it has costs.
  const isAbsent = (i: number): boolean =>
    linkedAttribution.averageWeights[i] === 0 && window.came[i] === 0 && linkedAttribution.contributions[i] === 0;
  const contributions = names.flatMap((name, i) =>
    isAbsent(i)
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

/**
 * Yields the contributions of the securities and overlay parts in the window.
 * @throws Refusal RANGE_TOO_SHORT, TOTAL_LOSS
 */
export const produceAttribution: Producer<'attribution'> = (source, from) => {
  const cachedColumns = findCachedColumns(source, { table: 'attribution', width: 5 }, () => listFigures(source));
  const [name, contribution, weight, total, part] = cachedColumns as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ]; // width of the cached columns
  const { names, parts = [] } = source.columns.header;
  return yieldBatches<'attribution'>(
    {
      count: name.length,
      columns: {
        identifier: {
          codes: Int32Array.from(name),
          texts: [...names, ...parts.map(({ index_id: indexId }) => indexId)],
        },
        contribution,
        average_weight: weight,
        total_return: total,
        part: { codes: Int32Array.from(part), texts: parts.map((storedPart) => storedPart.part) },
      },
    },
    from,
  );
};

/**
 * Returns the columns of the table. They are the position of each security in the run, its figures, and the position of
 * an overlay part (-1 for a security). Rows are ascending by identifier, and overlay parts come last.
 */
function listFigures({ columns, window }: ExportSource): Float64Array[] {
  const { names } = columns.header;
  const columnByName = new Map(names.map((name, position) => [name, position]));
  const { contributions, overlay_parts: parts } = createAttributionView(columns, window);
  const rows = [
    ...contributions
      .toSorted((a, b) => compareText(a.asset_id, b.asset_id))
      .map(({ asset_id, ...figures }) => ({ ...figures, at: columnByName.get(asset_id)!, part: -1 })), // `asset_id` is a security of the run
    ...(parts ?? []).map(({ contribution }, part) => ({
      contribution,
      average_weight: 0,
      total_return: NaN,
      at: names.length + part,
      part,
    })),
  ];
  const readNumbers = (readRow: (row: (typeof rows)[number]) => number): Float64Array =>
    Float64Array.from(rows, readRow);
  return [
    readNumbers(({ at }) => at),
    readNumbers(({ contribution }) => contribution),
    readNumbers(({ average_weight }) => average_weight),
    readNumbers((row) => row.total_return),
    readNumbers(({ part }) => part),
  ];
}

/**
 * Returns the attribution of a window of a stored run to factors.
 * @param market market of the run, with its datapoints
 * @throws Refusal RANGE_TOO_SHORT, TOTAL_LOSS
 */
export function createFactorAttributionView(
  run: RunColumns,
  market: Required<ReturnWindow>,
  { start, end, model }: RequestedDates & { readonly model: AttributionModel },
): WithFindings<FactorAttributionView> {
  const { header } = run;
  const days = run.i32('days');
  const { from, to } = createWindowSpan(days, { start, end });
  const runWindow = readWindow(run, { from, to }, { follow: false });
  const { sm } = market;
  const endDays = days.subarray(from + 1, to + 1);
  const attribution = attributeToFactors({
    window: market,
    model,
    sessions: endDays.map((day) => findLastAtMost(sm.sessions, day)),
    columns: Int32Array.from(header.names, (name) => sm.columnOf(name)),
    returns: computeReturns(run.f64('level', from, to + 1)),
    days: endDays,
    weightsBefore: (period) => runWindow.weightsAt(period),
  });
  return {
    index_id: header.run_id,
    model,
    factors: attribution.factors.map((factor, k) => ({
      factor,
      average_exposure: attribution.exposures[k]!,
      contribution: attribution.contributions[k]!,
    })),
    specific: attribution.specific,
    other: attribution.other,
    total_return: attribution.totalReturn,
    covered_weight: attribution.coveredWeight,
    periods: to - from,
    reconciles: attribution.reconciles,
    residual: attribution.residual,
    requested_start: start ?? formatDay(days[0]!),
    requested_end: end ?? formatDay(days.at(-1)!),
    start: formatDayTimestamp(days[from + 1]!),
    end: formatDayTimestamp(days[to]!),
    findings: reportUnexplainedMonths(attribution),
  };
}

/** Returns a finding that explains why factor returns are missing for some months. */
function reportUnexplainedMonths({ months, unexplained }: FactorAttribution): Finding[] {
  if (unexplained.length === 0) return [];
  const fewest = unexplained.reduce((least, unexplainedMonth) =>
    unexplainedMonth.names < least.names ? unexplainedMonth : least,
  );
  const message = `In ${unexplained.length} of ${months} months, too few securities of the store have a return on every session for a regression on the factors; the return of these months is in \`other\`. The month with the fewest has ${fewest.names} of ${fewest.needed} required securities.`;
  return [{ severity: 'warning', code: 'TOO_FEW_NAMES', path: 'model', message, count: unexplained.length }];
}
