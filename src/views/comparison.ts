import type { CompareEntry, CompareView } from '#contract/analytics/analytics.js';
import type { ReplayView } from '#contract/runs.js';
import {
  type BacktestMetrics,
  computeBacktestMetrics,
  computeBenchmarkStatistics,
  computeMean,
  computeReturns,
  rebase,
} from '#domain/analytics/returns.js';
import { warnOfCutBenchmark } from '#domain/backtest/findings.js';
import type { RunState } from '#domain/backtest/plan.js';
import type { RunDifference } from '#domain/backtest/run-file/compare.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import type { Finding } from '#domain/base/findings.js';
import { findFirstAtLeast, findLastAtMost, isConstant, isEqual } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { estimateCommonPeriods } from '#domain/calendars/calendar.js';
import type { MeasuredVariant } from '#domain/market/market-data.js';
import { writeDatedCsv } from './formats/text.js';
import {
  createJsonObject,
  createNumberMember,
  createTextMember,
  createValueMember,
  createWrittenMember,
  encodeDays,
  type JsonWriter,
  writeSeriesBody,
} from './json/writer.js';
import { findDifferingReturns, formatWindow, type RequestedDates } from './run-columns.js';

/** Levels of several runs on their common dates. The level of a benchmark, if any, is last. */
export interface RunComparison {
  readonly days: Int32Array;
  /** Series, each rebased to 100 on the first common date. */
  readonly entries: readonly {
    /** Name of the series in the request. */
    readonly name: string;
    readonly id: string;
    readonly level: Float64Array;
    readonly variant: MeasuredVariant;
    readonly currency: string;
    /** Common returns per year, by which the figures are annualised. */
    readonly periodsPerYear: number;
  }[];
  /**
   * Limits of the comparison: dates on which the benchmark has no level, and different return variants or currencies.
   */
  readonly findings: readonly Finding[];
}

/** Levels of one compared series with its own days, [T] each. */
export interface ComparedLevels {
  /** Name in the request. Default: the id. */
  readonly name?: string;
  readonly id: string;
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly variant: MeasuredVariant;
  readonly currency: string;
}

/**
 * Compares runs and an optional benchmark on their common dates.
 * @throws Refusal NO_COMMON_DATES
 */
export function compareRuns(
  runs: readonly RunColumns[],
  { names, ...window }: RequestedDates & { readonly names: readonly string[] },
  benchmark: ComparedLevels | null,
): RunComparison {
  const series: ComparedLevels[] = runs.map((columns, k) => ({
    name: names[k]!,
    id: columns.header.run_id,
    days: columns.i32('days'),
    level: columns.f64('level'),
    variant: columns.header.variant,
    currency: columns.header.currency,
  }));
  const commonDays = cutWindow(
    series.reduce((sharedDays, { days }) => intersectDays(sharedDays, days), series[0]!.days),
    window,
  );
  if (benchmark !== null) series.push(benchmark);
  const days = benchmark === null ? commonDays : intersectDays(commonDays, benchmark.days);
  if (days.length === 0) {
    const subject = `The ${runs.length} runs${benchmark === null ? '' : ' and the benchmark'}`;
    throw new Refusal(
      'NO_COMMON_DATES',
      `${subject} share no date${formatWindow(window)}: ${series.map(formatSpan).join(', ')}.`,
    );
  }
  return {
    days,
    findings: [
      ...findDifferingReturns(series, 'ids'),
      ...findDifferingCurrencies(series),
      ...(benchmark === null ? [] : warnOfCutBenchmark(benchmark.id, days, commonDays)),
    ],
    entries: series.map((comparedLevels, k) => ({
      name: comparedLevels.name ?? comparedLevels.id,
      id: comparedLevels.id,
      level: rebase(selectValuesOn(days, comparedLevels.days, comparedLevels.level), 100),
      variant: comparedLevels.variant,
      currency: comparedLevels.currency,
      // A benchmark can have fewer levels than a year has sessions, so the sessions of the first run count for it.
      periodsPerYear: estimateCommonPeriods(days, series[k < runs.length ? k : 0]!.days),
    })),
  };
}

function findDifferingCurrencies(series: readonly ComparedLevels[]): Finding[] {
  if (new Set(series.map(({ currency }) => currency)).size === 1) return [];
  const seriesText = series.map(({ id, name = id, currency }) => `${name} ${currency}`).join(', ');
  return [
    {
      severity: 'warning',
      code: 'CURRENCIES_DIFFER',
      path: 'ids',
      message: `The levels are in different currencies: ${seriesText}.`,
    },
  ];
}

function formatSpan({ id, days }: ComparedLevels): string {
  if (days.length === 0) return `${id} has no date`;
  return `${id} is from ${formatDay(days[0]!)} to ${formatDay(days.at(-1)!)}`;
}

function cutWindow(days: Int32Array, { start, end }: RequestedDates): Int32Array {
  const from = start === null ? 0 : findFirstAtLeast(days, parseValidDay(start));
  const to = end === null ? days.length : findLastAtMost(days, parseValidDay(end)) + 1;
  return from === 0 && to === days.length ? days : days.slice(from, Math.max(from, to));
}

/**
 * Returns the correlation of the returns for each pair of series. It is null if one of them is constant.
 * @cost O(pairs x dates)
 */
function computeCorrelations(entries: RunComparison['entries']): (number | null)[][] {
  const scaledReturns = entries.map(({ level }) => {
    const returns = computeReturns(level);
    const meanReturn = computeMean(returns);
    const centredReturns = returns.map((value) => value - meanReturn);
    const length = Math.sqrt(centredReturns.reduce((sum, value) => sum + value * value, 0));
    return isConstant(length / Math.sqrt(Math.max(1, returns.length - 1)))
      ? null
      : centredReturns.map((value) => value / length);
  });
  return scaledReturns.map((a, i) =>
    scaledReturns.map((b, j) => {
      if (a === null || b === null) return null;
      if (i === j) return 1;
      const product = a.reduce((sum, value, t) => sum + value * b[t]!, 0);
      return Math.max(-1, Math.min(1, product));
    }),
  );
}

/**
 * Returns the days that both ascending lists contain. If these are all days of the first list, returns that list
 * itself.
 */
function intersectDays(a: Int32Array, b: Int32Array): Int32Array {
  if (isEqual(a, b)) return a;
  const sharedDays = new Int32Array(a.length);
  let count = 0;
  for (let i = 0, position = 0; i < a.length; i++) {
    while (position < b.length && b[position]! < a[i]!) position++;
    if (b[position] === a[i]) sharedDays[count++] = a[i]!;
  }
  return count === a.length ? a : sharedDays.slice(0, count);
}

/**
 * Selects the values on some days.
 * @param requestedDays a subset of the days, in ascending order
 */
function selectValuesOn(requestedDays: Int32Array, days: Int32Array, values: Float64Array): Float64Array {
  if (requestedDays.length === days.length) return values;
  const result = new Float64Array(requestedDays.length);
  for (let i = 0, position = 0; i < requestedDays.length; i++) {
    while (days[position]! < requestedDays[i]!) position++;
    result[i] = values[position]!;
  }
  return result;
}

/** Approximate size of a date with its value, in bytes. */
const CELL_BYTES = 34;

export function estimateComparisonBytes({ days, entries }: RunComparison): number {
  return CELL_BYTES * days.length * entries.length;
}

interface ComparedState extends RunState {
  readonly run_id: string | null;
}

interface RunNotes {
  /** States of the runs in order. A benchmark has no state. */
  readonly states: readonly ComparedState[];
  readonly findings: readonly Finding[];
}

interface ComparedEntry {
  readonly entry: RunComparison['entries'][number];
  readonly state: ComparedState;
  readonly dates: Uint8Array;
  readonly metrics: BacktestMetrics;
  /** Level of the benchmark. Null if there is no benchmark, and for the benchmark itself. */
  readonly benchmark: Float64Array | null;
}

const ENTRY = createJsonObject<CompareEntry, ComparedEntry>({
  run_id: createValueMember(({ state }) => state.run_id),
  index_version: createValueMember(({ state }) => state.index_version),
  store_id: createValueMember(({ state }) => state.store_id),
  stale: createValueMember(({ state: { stale } }) => stale && { ...stale, reasons: [...stale.reasons] }),
  index_id: createTextMember(({ entry }) => entry.id),
  return_variant: createTextMember(({ entry }) => entry.variant),
  currency: createTextMember(({ entry }) => entry.currency),
  level: createWrittenMember((json, { entry: { name, level }, dates }) =>
    writeSeriesBody(json, { name, dates, values: level }),
  ),
  total_return: createNumberMember(({ entry: { level } }) => level.at(-1)! / level[0]! - 1),
  periods_per_year: createNumberMember(({ entry: { periodsPerYear } }) => periodsPerYear),
  annualised_return: createValueMember(({ entry: { level }, metrics }) =>
    level.length < 2 ? null : metrics.annualised_return,
  ),
  volatility: createNumberMember(({ metrics }) => metrics.volatility),
  sharpe_ratio: createNumberMember(({ metrics }) => metrics.sharpe_ratio),
  max_drawdown: createNumberMember(({ metrics }) => metrics.max_drawdown),
  benchmark_statistics: createValueMember(({ entry: { level, periodsPerYear }, benchmark }) =>
    benchmark === null || level.length < 3 ? null : computeBenchmarkStatistics(level, benchmark, periodsPerYear),
  ),
});

/** State of a benchmark that is not a run. */
const NO_RUN: ComparedState = { run_id: null, index_version: null, store_id: null, stale: null };

const COMPARISON = createJsonObject<
  CompareView,
  RunComparison & Pick<RunNotes, 'states'> & { readonly notes: RunNotes['findings'] }
>({
  index_ids: createValueMember(({ entries }) => entries.map(({ name }) => name)),
  entries: createWrittenMember((json, { days, entries, states }) => {
    const dates = encodeDays(days);
    // A benchmark comes after the runs and has no state.
    const benchmark = entries[states.length]?.level ?? null;
    json.raw('[');
    entries.forEach((entry, k) => {
      if (k > 0) json.raw(',');
      ENTRY.write(json, {
        entry,
        dates,
        state: states[k] ?? NO_RUN,
        metrics: computeBacktestMetrics(entry.level, null, entry.periodsPerYear),
        benchmark: entry.level === benchmark ? null : benchmark,
      });
    });
    json.raw(']');
  }),
  correlations: createValueMember(({ entries }) => computeCorrelations(entries)),
  findings: createWrittenMember((json, { findings, notes }) => json.value([...notes, ...findings])),
  observations: createNumberMember(({ days }) => days.length),
  start: createTextMember(({ days }) => formatDay(days[0]!)),
  end: createTextMember(({ days }) => formatDay(days.at(-1)!)),
});

/**
 * Writes a CompareView as JSON.
 * @throws Refusal NUMERIC_FAILURE
 * @cost 20 ns per number
 */
export function writeComparison(json: JsonWriter, comparison: RunComparison, { states, findings }: RunNotes): void {
  COMPARISON.write(json, { ...comparison, states, notes: findings });
}

/** Formats the levels as CSV, with one row per date and one column per run or benchmark. */
export function formatComparisonCsv({ days, entries }: RunComparison): string {
  return writeDatedCsv({ days, columns: entries.map(({ name, level }) => ({ name, values: level })) });
}

/** Provenance of a run: its hash, engine version and data hash. */
export interface RunInputs {
  readonly runHash: string;
  readonly engineVersion: string;
  readonly storeContentHash: string;
}

interface ReplayOutcome {
  readonly runId: string;
  readonly stored: RunInputs & { readonly runAt: string | null };
  readonly replayed: RunInputs;
  readonly definitionChanged: boolean;
  readonly difference: RunDifference | null;
}

export function createReplayView({
  runId,
  stored,
  replayed,
  definitionChanged,
  difference,
}: ReplayOutcome): ReplayView {
  return {
    index_id: runId,
    equal: difference === null,
    first_difference: difference,
    inputs_equal: replayed.runHash === stored.runHash,
    stored_run_hash: stored.runHash,
    replayed_run_hash: replayed.runHash,
    stored_engine_version: stored.engineVersion,
    replayed_engine_version: replayed.engineVersion,
    stored_content_hash: stored.storeContentHash,
    replayed_content_hash: replayed.storeContentHash,
    definition_changed: definitionChanged,
    run_at: stored.runAt,
  };
}
