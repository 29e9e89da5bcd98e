import type { Engine } from '#kernels/engines/engine.js';
import { type BacktestMetrics, computeCovariance } from '../analytics/returns.js';
import { computeQuantile, isEqual } from '../base/numbers.js';
import type { ErrorDetail } from '../base/refusals.js';
import { type ChoiceByFolds, createFoldStudy, type FoldsTooShort } from './folds.js';
import {
  computeExpectedMaximumSharpe,
  computeProbabilisticSharpe,
  createOverfitting,
  createSharpeSample,
  type Overfitting,
  rateOverfitting,
  type SharpeSample,
} from './overfitting.js';
import type { OutcomeSource, VariantRun } from './sweep-runs.js';
import { findPreference, type FoldRanking, type RankingName, type SweepFolds } from './sweep.js';

/** Quantiles of the levels of variants that a fan shows at each date. */
export const FAN_SHARES = [0, 0.25, 0.5, 0.75, 1] as const;

/** Maximum number of dates of a fan: about one per eight pixels of a chart. */
export const FAN_DATES_MAX = 120;
/** Maximum number of variants in a fan. The levels of a thousand variants need 1 MB. */
export const FAN_VARIANTS_MAX = 1000;

export interface VariantLevels {
  readonly variant: number;
  readonly curve: Float64Array;
}

/** Levels of the variants of a sweep over time, 100 on the first common date. */
export interface Fan {
  /** Days of the fan, [D], evenly spread, including the first and the last common day. */
  readonly days: Int32Array;
  readonly variants: number;
  /** Quantiles, [D] each, in the order of `FAN_SHARES`. */
  readonly quantiles: readonly Float64Array[];
  /** Levels of the variant ranked first, [D]; null if it was not added. */
  readonly first: Float64Array | null;
  /** Levels of each variant, [D]; empty with more than `FAN_LINES_MAX` variants. */
  readonly levels: readonly VariantLevels[];
}

/** Maximum number of variants with their own levels. Each is one line of a chart. */
export const FAN_LINES_MAX = 8;

/** Creates an empty fan. @param days common days of all variants, ascending @param first variant ranked first */
export function createFan(variants: readonly number[], days: Int32Array, first: number) {
  const positions = spreadEvenly(days.length, FAN_DATES_MAX);
  const wantedVariants = new Set([
    ...spreadEvenly(variants.length, FAN_VARIANTS_MAX).map((position) => variants[position]!),
    first,
  ]);
  const added: VariantLevels[] = [];
  return {
    /** Variants to add, evenly spread over all variants, including the one ranked first. */
    wanted: wantedVariants,
    /** Adds the returns of a variant. @param returns returns between the common days */
    add(variant: number, returns: Float64Array): void {
      added.push({ variant, curve: computeCurve(returns, positions) });
    },
    end: (): Fan => ({
      days: Int32Array.from(positions, (position) => days[position]!),
      variants: added.length,
      quantiles: computeQuantiles(
        added.map(({ curve }) => curve),
        positions.length,
      ),
      first: added.find(({ variant }) => variant === first)?.curve ?? null,
      levels: added.length > FAN_LINES_MAX ? [] : added,
    }),
  };
}

function computeQuantiles(curves: readonly Float64Array[], dateCount: number): Float64Array[] {
  const quantiles = FAN_SHARES.map(() => new Float64Array(dateCount));
  for (let d = 0; d < dateCount; d++) {
    const sortedValues = Float64Array.from(curves, (curve) => curve[d]!).sort();
    FAN_SHARES.forEach((share, k) => (quantiles[k]![d] = computeQuantile(sortedValues, share)));
  }
  return quantiles;
}

/** Returns the levels at some indices of the days, 100 at the first of these. */
function computeCurve(returns: Float64Array, places: readonly number[]): Float64Array {
  const curve = new Float64Array(places.length);
  let level = 100;
  let position = 0;
  places.forEach((place, d) => {
    for (; position < place; position++) level *= 1 + returns[position]!;
    curve[d] = level;
  });
  return curve;
}

/** Returns up to `most` indices below `length`, evenly spread, including the first and the last index. */
function spreadEvenly(length: number, most: number): number[] {
  if (length <= most) return Array.from({ length }, (_, k) => k);
  return Array.from({ length: most }, (_, k) => Math.round((k * (length - 1)) / (most - 1)));
}

/** Run of a variant, without its levels. */
export interface VariantSummary {
  readonly metrics: BacktestMetrics;
  readonly totalCosts: number;
  /** First and last day of the run. */
  readonly start: number;
  readonly end: number;
  readonly observations: number;
}

export interface SweepRow {
  /** Rank, 1 for the best; null for a refused variant. */
  readonly rank: number | null;
  readonly variant: number;
  readonly run: VariantSummary | null;
  readonly error: ErrorDetail | null;
  /** Probability that the true Sharpe ratio exceeds the expected maximum of all trials without skill. */
  readonly deflatedSharpe: number | null;
}

/** Effect of choosing the best of several variants on its Sharpe ratio. Ratios are per session, not annualised. */
export interface SelectionBias {
  /** Number of distinct variants that ran. Variants with equal levels count as a single trial. */
  readonly trials: number;
  readonly sharpeVariance: number;
  readonly expectedMaximumSharpe: number;
  /** Statistics of the variant ranked first. */
  readonly best: SharpeSample;
  readonly deflatedSharpe: number | null;
}

export interface SweepTable {
  /** Rows by rank, followed by refused variants. */
  readonly rows: readonly SweepRow[];
  /** Effect of the choice; null if no variant ran. */
  readonly selection: SelectionBias | null;
  /** Overfitting of the choice. Null with fewer than two trials, or with too few common dates. */
  readonly overfitting: Overfitting | null;
  /** Value of the choice out of sample, with trials given by variant. Null unless requested. */
  readonly folds: ChoiceByFolds | FoldsTooShort | null;
  /** Groups of variants with bit-identical levels, by variant. */
  readonly identical: readonly (readonly number[])[];
  /** Levels of the variants over time; null with fewer than two common dates. */
  readonly fan: Fan | null;
}

export interface SweepTableInput {
  readonly outcomes: OutcomeSource;
  readonly rankBy: RankingName;
  readonly partitions: number;
  readonly folds: SweepFolds | null;
  /** Engine that evaluates the choices. Default: plain loops. */
  readonly engine?: Engine | undefined;
  readonly tick?: ((fraction: number) => void) | undefined;
}

/**
 * Fractions of the work that are complete after the visit of the outcomes for the ranking, and after the second visit.
 */
const RANKING_SHARE = 0.3;
const VALUE_SHARE = 0.7;

/**
 * Ranks variants and estimates the value of the choice.
 * @cost two visits of the outcomes, and a third visit of some of them with folds; the cost of `overfitting` and
 * `chooseByFolds`; memory for some hundred bytes per variant, with folds also `computeTrialFigureBytes`
 */
export function createSweepTable({ outcomes, rankBy, partitions, folds, engine, tick }: SweepTableInput): SweepTable {
  const { ran, refused, identical, days } = summarise(outcomes, tick);
  const duplicates = new Set(identical.flatMap(([, ...others]) => others));
  const trials = ran.filter(({ variant }) => !duplicates.has(variant));
  const sharpes = Float64Array.from(trials, ({ sample }) => sample.sharpe);
  const variance = computeCovariance(sharpes, sharpes);
  const threshold = computeExpectedMaximumSharpe({ trials: trials.length, variance });
  const sign = findPreference(rankBy);
  const getValue = ({ metrics }: VariantSummary): number => sign * (metrics[rankBy] ?? 0);
  const sortedRuns = ran.toSorted((a, b) => getValue(b.run) - getValue(a.run) || a.variant - b.variant);
  const rows: SweepRow[] = sortedRuns.map(({ variant, run, sample }, i) => ({
    rank: i + 1,
    variant,
    run,
    error: null,
    deflatedSharpe: computeProbabilisticSharpe(sample, threshold),
  }));
  for (const { variant, error } of refused) rows.push({ rank: null, variant, run: null, error, deflatedSharpe: null });
  const first = sortedRuns[0];
  return {
    rows,
    selection:
      first === undefined
        ? null
        : {
            trials: trials.length,
            sharpeVariance: variance,
            expectedMaximumSharpe: threshold,
            best: first.sample,
            deflatedSharpe: rows[0]!.deflatedSharpe,
          },
    ...computeOutOfSample(
      { outcomes, trials: trials.map(({ variant }) => variant), days, first: first?.variant ?? null },
      { partitions, folds, engine, tick },
    ),
    identical,
  };
}

interface RankedRun {
  readonly variant: number;
  readonly run: VariantSummary;
  readonly sample: SharpeSample;
}

function summarise(outcomes: OutcomeSource, tick: SweepTableInput['tick']) {
  const rankedRuns: RankedRun[] = [];
  const refusals: { readonly variant: number; readonly error: ErrorDetail }[] = [];
  const keys: string[] = [];
  let days: Int32Array | undefined;
  let visitedCount = 0;
  outcomes.visit((variant, outcome) => {
    tick?.((RANKING_SHARE * visitedCount++) / outcomes.count);
    if (outcome.kind === 'refused') return void refusals.push({ variant, error: outcome.error });
    const { metrics, totalCosts } = outcome;
    const run = {
      metrics,
      totalCosts,
      start: outcome.days[0]!,
      end: outcome.days.at(-1)!,
      observations: outcome.days.length,
    };
    rankedRuns.push({ variant, run, sample: createSharpeSample(computeReturnsOn(outcome, outcome.days)) });
    keys[variant] = outcomes.keyOf(outcome);
    days = days === undefined ? outcome.days : listSharedDays(days, outcome.days);
  });
  rankedRuns.sort((a, b) => a.variant - b.variant);
  refusals.sort((a, b) => a.variant - b.variant);
  return {
    ran: rankedRuns,
    refused: refusals,
    identical: groupIdentical(rankedRuns, keys),
    days: days ?? new Int32Array(0),
  };
}

/** Groups variants with equal keys; groups and their members are in the order of the variants. */
function groupIdentical(ran: readonly RankedRun[], keys: readonly string[]): number[][] {
  const groups = new Map<string, number[]>();
  for (const { variant } of ran) {
    const group = groups.get(keys[variant]!);
    if (group === undefined) groups.set(keys[variant]!, [variant]);
    else group.push(variant);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

interface Trials {
  readonly outcomes: OutcomeSource;
  /** Variants that count as trials, ascending. */
  readonly trials: readonly number[];
  /** Common days of all runs, ascending. */
  readonly days: Int32Array;
  /** Variant ranked first; null if no variant ran. */
  readonly first: number | null;
}

/** Computes overfitting, the choice by folds and the fan of levels, on the common dates of all trials. */
function computeOutOfSample(
  { outcomes, trials, days, first }: Trials,
  { partitions, folds, engine, tick }: Pick<SweepTableInput, 'partitions' | 'folds' | 'engine' | 'tick'>,
): Pick<SweepTable, 'overfitting' | 'folds' | 'fan'> {
  const observationCount = Math.max(0, days.length - 1);
  const estimate = createOverfitting({ variants: trials.length, observations: observationCount, partitions });
  const study = folds === null || trials.length === 0 ? null : createFoldStudy({ trials: trials.length, days, folds });
  const trialByVariant = new Map(trials.map((variant, trial) => [variant, trial]));
  const collector = first === null || observationCount === 0 ? null : createFan(trials, days, first);
  let visitedCount = 0;
  const visit = (call: (trial: number, returns: Float64Array) => void, chosenTrials: ReadonlySet<number>): void =>
    outcomes.visit((variant, outcome) => {
      if (outcome.kind === 'run') call(trialByVariant.get(variant)!, computeReturnsOn(outcome, days)); // every requested variant is a trial
    }, chosenTrials);
  const isStudied = estimate !== undefined || study?.kind === 'study';
  visit(
    (trial, returns) => {
      tick?.(RANKING_SHARE + ((VALUE_SHARE - RANKING_SHARE) * visitedCount++) / trials.length);
      const variant = trials[trial]!;
      if (collector?.wanted.has(variant)) collector.add(variant, returns);
      estimate?.add(trial, returns);
      if (study?.kind === 'study') study.add(trial, returns);
    },
    isStudied ? new Set(trials) : (collector?.wanted ?? new Set()),
  );
  tick?.(VALUE_SHARE);
  const fan = collector?.end() ?? null;
  const result = estimate?.end(engine) ?? null;
  if (study?.kind !== 'study') return { overfitting: result, folds: study, fan };
  const studyResult = study.end({
    rowsOf(chosenTrials) {
      const rows = new Map<number, Float64Array>();
      visit((trial, returns) => rows.set(trial, returns), new Set(Array.from(chosenTrials, (trial) => trials[trial]!)));
      return rows;
    },
    tick: (fraction) => tick?.(VALUE_SHARE + (1 - VALUE_SHARE) * fraction),
  });
  const choices = studyResult.choices.map((foldChoice) => ({ ...foldChoice, trial: trials[foldChoice.trial]! }));
  return { overfitting: result, folds: { ...studyResult, choices }, fan };
}

/** Returns the common days of two runs, ascending. */
function listSharedDays(days: Int32Array, others: Int32Array): Int32Array {
  if (isEqual(days, others)) return days;
  const otherDays = new Set(others);
  return days.every((day) => otherDays.has(day)) ? days : days.filter((day) => otherDays.has(day));
}

function computeReturnsOn({ days, level }: VariantRun, commonDays: Int32Array): Float64Array {
  const returns = new Float64Array(Math.max(0, commonDays.length - 1));
  let position = 0;
  let before = Number.NaN;
  for (let i = 0; i < commonDays.length; i++) {
    while (days[position] !== commonDays[i]) position++;
    const value = level[position]!;
    // A level of zero remains zero.
    if (i > 0) returns[i - 1] = before === 0 ? 0 : value / before - 1;
    before = value;
  }
  return returns;
}

/**
 * Describes the figures of a sweep, one sentence each. A statement about skill names its benchmark. It is omitted if
 * the choice is no better than a random one.
 */
export function createVerdict({ selection, overfitting, folds, identical }: SweepTable): string[] {
  if (selection === null) return [];
  const { trials, deflatedSharpe } = selection;
  const isOverfit = overfitting !== null && rateOverfitting(overfitting) === 'overfit';
  return [
    ...(identical.length === 0 ? [] : [describeIdentical(identical)]),
    ...(deflatedSharpe === null || isOverfit ? [] : [describeSkill(deflatedSharpe, trials)]),
    ...(overfitting === null
      ? []
      : [
          `In ${formatPercent(overfitting.probability)} of ${overfitting.combinations.toLocaleString('en-GB')} splits of the history, the variant that was best in one half ranked no better than the median in the other; a random choice would do so in ${formatPercent(overfitting.chanceLevel)}${isOverfit ? ': the first rank here does not predict the future rank' : ''}.`,
        ]),
    ...(folds === null ? [] : describeFolds(folds)),
  ];
}

/** Maximum number of variant groups in a sentence, and of variants per group. */
const GROUPS_MAX = 100;
const MEMBERS_MAX = 20;

function describeIdentical(identical: SweepTable['identical']): string {
  const groups = identical.slice(0, GROUPS_MAX).map((group) => {
    const moreCount = group.length - MEMBERS_MAX;
    return joinWords(
      group
        .slice(0, MEMBERS_MAX)
        .map(String)
        .concat(moreCount > 0 ? [`${moreCount} more`] : []),
    );
  });
  const moreGroups = identical.length - GROUPS_MAX;
  if (groups.length === 1) return `Variants ${groups[0]} have identical levels and count as one trial.`;
  return `Variants with identical levels count as one trial each: ${groups.join('; ')}${moreGroups > 0 ? `; and ${moreGroups} more groups` : ''}.`;
}

/** Joins two or more words, as in `0, 2 and 5`. */
const joinWords = (words: readonly string[]): string => `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

function describeSkill(deflatedSharpe: number, trialCount: number): string {
  const chanceText = trialCount === 1 ? 'one trial' : `the best of ${trialCount} trials`;
  return `The Sharpe ratio of the first variant exceeds that of ${chanceText} without skill with a probability of ${formatPercent(deflatedSharpe)} (deflated Sharpe ratio).`;
}

const METRIC_PHRASES: Readonly<Record<FoldRanking, string>> = {
  sharpe_ratio: 'Sharpe ratio',
  annualised_return: 'annualised return',
  max_drawdown: 'drawdown',
  volatility: 'volatility',
};

/**
 * Describes the results of the choice in sample and out of sample. Both are means over the same splits; the paths, which
 * join the tests of several splits, have a separate sentence.
 */
function describeFolds(folds: ChoiceByFolds | FoldsTooShort): string[] {
  if (folds.kind === 'short')
    return [
      `The choice was not tested by folds: the variants have ${folds.observations} common returns, but the folds need ${folds.needed}.`,
    ];
  const { folds: terms, choices, paths, inSample, outOfSample, overPaths, probabilityOfLoss } = folds;
  const metric = terms.select_by;
  const write = metric === 'sharpe_ratio' ? (value: number) => value.toFixed(2) : formatPercent;
  const pathDistribution = overPaths[metric];
  const { percentiles } = pathDistribution;
  const pathText =
    paths.length === 1
      ? `Joined to one path, the returns out of sample have ${write(pathDistribution.mean)}.`
      : `Joined to ${paths.length} paths, the returns out of sample have a median of ${write(percentiles['0.5']!)} (${write(percentiles['0.05']!)} to ${write(percentiles['0.95']!)} from the 5th to the 95th percentile); ${formatPercent(probabilityOfLoss)} of the paths lose.`;
  return [
    `Chosen by ${METRIC_PHRASES[metric]} over ${choices.length} splits, the best shows ${write(inSample.mean)} on average in sample and ${write(outOfSample.mean)} on average out of sample.`,
    pathText,
  ];
}

function formatPercent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)}%`;
}
