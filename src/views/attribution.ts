import type { AttributionView, FactorAttributionView, GroupAttributionView } from '#contract/analytics/analytics.js';
import {
  type AttributionInput,
  linkContributions,
  attributeByGroup,
  type Attribution,
  createGroupReturns,
  type EffectLinking,
  type GroupedPeriod,
  type GroupReturns,
  isReconciled,
} from '#domain/analytics/attribution.js';
import { computeReturns } from '#domain/analytics/returns.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { compareText, type Finding } from '#domain/base/findings.js';
import { findLastAtMost, findFirstAtLeast } from '#domain/base/numbers.js';
import { formatDay, formatDayTimestamp, type Day } from '#domain/base/time.js';
import { formatPartId } from '#domain/definition/overlay-type.js';
import { attributeToFactors, type AttributionModel, type FactorAttribution } from '#domain/risk/factor-attribution.js';
import type { ReturnWindow } from '#domain/risk/return-panel.js';
import { findCachedColumns } from './events.js';
import { type ExportSource, type Producer, yieldBatches } from './formats/batch.js';
import type { WithFindings } from './preview.js';
import {
  createWindowSpan,
  findDifferingReturns,
  readWindow,
  type RequestedDates,
  type RunWindow,
} from './run-columns.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Book, listTransfers, readDrift } from '#domain/books/book.js';
import type { MeasuredVariant } from '#domain/market/market-data.js';
import { createExchangeRates } from '#domain/market/rates.js';

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

interface GroupsInput {
  readonly window: RequestedDates;
  /** Reference column that defines the groups. */
  readonly by: string;
  /** Returns the group of a security as known on a day. */
  findGroup(name: string, day: Day): string;
  /** Benchmark index, computed from its definition; null if there is none. */
  readonly benchmark: { readonly id: string; readonly book: Book; readonly variant: MeasuredVariant } | null;
  readonly linking?: EffectLinking;
  /** True to separate the effect of exchange rates, which are those of the benchmark's market. */
  readonly separatesCurrency?: boolean;
}

/** Group of the weight that is not invested, and of the returns that an overlay itself earns. */
const CASH = 'CASH';

/**
 * Returns the contributions in a window by group. If there is a benchmark, the effects that explain the difference of
 * the returns are added. Groups are those that were known at the end of the window.
 * @throws Refusal RANGE_TOO_SHORT, TOTAL_LOSS, NO_COMMON_DATES if the benchmark lacks a session of the window
 * @cost reads [n x H] weights; with a benchmark, again if there are too many values to cache
 */
export function createGroupsView(columns: RunColumns, input: GroupsInput): WithFindings<GroupAttributionView> {
  const { window: requestedWindow, by, benchmark } = input;
  const days = columns.i32('days');
  const { from, to } = createWindowSpan(days, requestedWindow);
  const periods = to - from;
  const endDays = days.subarray(from + 1, to + 1);
  const { groups, cash, ownAt, benchmarkAt } = locateInGroups(columns.header.names, days[to]!, input);
  const size = { periods, groups: groups.length };
  const terms = { count: groups.length, cash };
  const dates = days.subarray(from, to + 1);
  const rates =
    benchmark !== null && input.separatesCurrency === true
      ? createRateChanges(benchmark.book, { currency: columns.header.currency, dates })
      : null;
  const ownRates = rates && ((period: number) => rates(columns.header.names, period));
  const readOwnPeriod = cachePeriods(groupRun(columns, { from, to, groupAt: ownAt, rates: ownRates, ...terms }), size);
  const groupReturns = createGroupReturns(groups.length);
  let groupedPeriod: GroupedPeriod;
  const linkedAttribution = linkContributions({
    securityCount: groups.length,
    returns: computeReturns(columns.f64('level', from, to + 1)),
    days: endDays,
    weightsBefore(period) {
      groupedPeriod = readOwnPeriod(period);
      groupReturns.add(groupedPeriod);
      return groupedPeriod.weights;
    },
    contributionsOf: () => groupedPeriod.contributions,
    costOf: () => 0,
    hasCosts: false,
  });
  const benchmarkNames =
    benchmark === null ? [] : Array.from(benchmark.book.columns, (column) => benchmark.book.sm.identifiers[column]!);
  const benchmarkRates = rates && ((period: number) => rates(benchmarkNames, period));
  const effects =
    benchmark &&
    attributeByGroup({
      linking: input.linking ?? 'arithmetic',
      groups: groups.length,
      days: endDays,
      portfolio: readOwnPeriod,
      benchmark: cachePeriods(
        groupBook(benchmark.book, { days: dates, groupAt: benchmarkAt, rates: benchmarkRates, ...terms }),
        size,
      ),
    });
  const { totalReturn } = linkedAttribution;
  const { run_id: id, variant } = columns.header;
  return {
    index_id: id,
    by,
    benchmark: benchmark?.id ?? null,
    return_variant: variant,
    benchmark_variant: benchmark?.variant ?? null,
    groups: groupRows(groups, { ...linkedAttribution, groupReturns }, effects, rates !== null),
    effects: effects && {
      allocation: effects.totals.allocation,
      selection: effects.totals.selection,
      interaction: effects.totals.interaction,
      currency: rates === null ? null : effects.totals.currency,
    },
    linking: effects === null ? null : (input.linking ?? 'arithmetic'),
    total_return: totalReturn,
    benchmark_return: effects?.benchmarkReturn ?? null,
    active_return: effects?.activeReturn ?? null,
    periods,
    residual: effects?.residual ?? linkedAttribution.residual,
    reconciles: effects
      ? isReconciled(effects.residual, totalReturn, effects.benchmarkReturn)
      : linkedAttribution.reconciles,
    requested_start: requestedWindow.start ?? formatDay(days[0]!),
    requested_end: requestedWindow.end ?? formatDay(days.at(-1)!),
    start: formatDayTimestamp(days[from + 1]!),
    end: formatDayTimestamp(days[to]!),
    findings: benchmark === null ? [] : findDifferingReturns([{ id, variant }, benchmark], 'benchmark'),
  };
}

/**
 * Returns a reader of the growth of the exchange rate of each security over a period; 1 for a security without a rate.
 */
function createRateChanges(
  { sm }: Book,
  { currency, dates }: { readonly currency: string; readonly dates: Int32Array },
): (names: readonly string[], period: number) => Float64Array {
  const exchangeRates = createExchangeRates(sm, currency);
  const columnByName = new Map(sm.identifiers.map((name, column) => [name, column]));
  return (names, period) => {
    const [before, after] = [dates[period]!, dates[period + 1]!].map((day) => findLastAtMost(sm.sessions, day));
    return Float64Array.from(names, (name) => {
      const column = columnByName.get(name);
      if (column === undefined || exchangeRates.isNative(column)) return 1;
      const change = exchangeRates.rateAt(after!, column) / exchangeRates.rateAt(before!, column);
      return change > 0 ? change : 1;
    });
  };
}

interface GroupPositions {
  /** Labels of the groups of both sides in ascending order, followed by the label of cash. */
  readonly groups: readonly string[];
  readonly cash: number;
  /** Group of each security of the run, [H]. The next field contains the groups of the benchmark's securities. */
  readonly ownAt: Int32Array;
  readonly benchmarkAt: Int32Array;
}

function locateInGroups(names: readonly string[], day: Day, { findGroup, benchmark }: GroupsInput): GroupPositions {
  const ownGroups = names.map((name) => findGroup(name, day));
  const benchmarkGroups = benchmark
    ? Array.from(benchmark.book.columns, (column) => findGroup(benchmark.book.sm.identifiers[column]!, day))
    : [];
  const labels = [...new Set([...ownGroups, ...benchmarkGroups])].toSorted(compareText);
  const groups = labels.includes(CASH) ? labels : [...labels, CASH];
  const findGroupPositions = (groupNames: readonly string[]): Int32Array =>
    Int32Array.from(groupNames, (group) => groups.indexOf(group));
  return {
    groups,
    cash: groups.indexOf(CASH),
    ownAt: findGroupPositions(ownGroups),
    benchmarkAt: findGroupPositions(benchmarkGroups),
  };
}

/** Returns one row for each group that has holdings or contributions on either side. */
function groupRows(
  groups: readonly string[],
  { contributions, averageWeights, groupReturns }: Attribution & { readonly groupReturns: GroupReturns },
  effects: ReturnType<typeof attributeByGroup> | null,
  hasCurrency: boolean,
): GroupAttributionView['groups'] {
  const isShown = (k: number): boolean =>
    averageWeights[k] !== 0 || contributions[k] !== 0 || (effects !== null && effects.benchmarkAverageWeights[k] !== 0);
  return groups
    .map((_, k) => k)
    .filter(isShown)
    .map((k) => ({
      group: groups[k]!,
      average_weight: averageWeights[k]!,
      benchmark_average_weight: effects?.benchmarkAverageWeights[k] ?? null,
      total_return: groupReturns.get(k),
      benchmark_return: effects?.benchmarkGroupReturns.get(k) ?? null,
      contribution: contributions[k]!,
      allocation: effects?.allocation[k] ?? null,
      selection: effects?.selection[k] ?? null,
      interaction: effects?.interaction[k] ?? null,
      currency: hasCurrency ? (effects?.currency[k] ?? null) : null,
    }));
}

type Periods = (period: number) => GroupedPeriod;

/** Maximum number of values that are cached for later passes, per side: 16 MB. */
const CACHED_VALUES_MAX = 1 << 21;

/** Caches the periods during the first pass, unless there are too many values. Periods must be read in order. */
function cachePeriods(
  allPeriods: Periods,
  { periods, groups }: { readonly periods: number; readonly groups: number },
): Periods {
  if (2 * periods * groups > CACHED_VALUES_MAX) return allPeriods;
  const cache: GroupedPeriod[] = [];
  return (period) => (cache[period] ??= allPeriods(period));
}

interface Grouping {
  /** Group of each security, [H]. */
  readonly groupAt: Int32Array;
  readonly count: number;
  readonly cash: number;
  /** Returns the growth of the exchange rate of each security over a period, [H]; null without currency effects. */
  readonly rates: ((period: number) => Float64Array) | null;
}

interface RunGrouping extends Grouping {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the periods of a stored run by group. Periods must be read in order; a second pass starts again with period
 * 0.
 */
function groupRun(columns: RunColumns, { from, to, ...grouping }: RunGrouping): Periods {
  const read = () => readWindow(columns, { from, to }, { follow: false });
  let window = read();
  return (period) => {
    if (period === 0) window = read();
    const weights = window.weightsAt(period);
    const groupedPeriod = sumByGroup(weights, window.computeContributions(period), grouping, period);
    for (const contribution of window.getParts(period)) addToCash(groupedPeriod, grouping.cash, contribution);
    return groupedPeriod;
  };
}

interface BookGrouping extends Grouping {
  readonly days: Int32Array;
}

/**
 * Returns the periods of a portfolio without costs by group.
 * @throws Refusal NO_COMMON_DATES
 */
function groupBook(book: Book, { days, ...grouping }: BookGrouping): Periods {
  const { sm, from, length, columns, weights, events, overlay } = book;
  const firstRow = findLastAtMost(sm.sessions, days[0]!) - from;
  for (let t = 0; t < days.length; t++) {
    if (firstRow < 0 || firstRow + t >= length || sm.sessions[from + firstRow + t] !== days[t]) {
      const coverageText = `${formatDay(sm.sessions[from]!)} to ${formatDay(sm.sessions[from + length - 1]!)}`;
      throw new Refusal(
        'NO_COMMON_DATES',
        `The benchmark covers ${coverageText} and has no level on ${formatDay(days[t]!)}. It must have a level on every date of the window.`,
      );
    }
  }
  const H = columns.length;
  const weightsBefore = new Map(events.map((event) => [event.at, event.before]));
  const parts = new Float64Array(H);
  const drift = readDrift(book);
  const earnings = createEarnings(book);
  return (period) => {
    const position = firstRow + period + 1;
    const periodWeights = weights.subarray((position - 1) * H, position * H);
    const driftedWeights = weightsBefore.get(position) ?? weights.subarray(position * H, (position + 1) * H);
    for (let i = 0; i < H; i++) parts[i] = driftedWeights[i]! * drift[position]! - periodWeights[i]!;
    earnings.addTo(parts, position);
    const groupedPeriod = sumByGroup(periodWeights, parts, grouping, period);
    for (const { contributions } of overlay?.parts ?? [])
      addToCash(groupedPeriod, grouping.cash, contributions[position]!);
    return groupedPeriod;
  };
}

/** Returns a reader that adds the dividends and close adjustments of a portfolio to contributions. */
function createEarnings(book: Book): { addTo(parts: Float64Array, offset: number): void } {
  const transfers = listTransfers(book);
  if (transfers === undefined) return { addTo: () => {} };
  const { at: transferDays, slot, dividends, moved } = transfers;
  return {
    addTo(parts, position) {
      for (
        let i = findFirstAtLeast(transferDays, position);
        i < transferDays.length && transferDays[i] === position;
        i++
      )
        parts[slot[i]!]! += dividends[i]! + moved[i]!;
    },
  };
}

function sumByGroup(
  holdingWeights: Float64Array,
  parts: Float64Array,
  { groupAt, count, cash, rates }: Grouping,
  period: number,
): GroupedPeriod {
  const weights = new Float64Array(count);
  const contributions = new Float64Array(count);
  let investedWeight = 0;
  for (let i = 0; i < holdingWeights.length; i++) {
    const group = groupAt[i]!;
    const weight = holdingWeights[i]!;
    weights[group]! += weight;
    contributions[group]! += parts[i]!;
    investedWeight += weight;
  }
  // The sum of the weights has a rounding error, which is not cash.
  if (Math.abs(1 - investedWeight) > CASH_MIN) weights[cash]! += 1 - investedWeight;
  if (rates === null) return { weights, contributions };
  const local = new Float64Array(count);
  const changes = rates(period);
  for (let i = 0; i < holdingWeights.length; i++)
    local[groupAt[i]!]! +=
      changes[i] === 1 ? parts[i]! : (holdingWeights[i]! + parts[i]!) / changes[i]! - holdingWeights[i]!;
  return { weights, contributions, local };
}

function addToCash({ contributions, local }: GroupedPeriod, cash: number, contribution: number): void {
  contributions[cash]! += contribution;
  if (local !== undefined) local[cash]! += contribution;
}

const CASH_MIN = 1e-12;
