import type { Engine } from '#kernels/engines/engine.js';
import type { BacktestMetrics } from '../analytics/series.js';
import { computeCovariance } from '../analytics/series.js';
import { isEqual } from '../numbers/number-types.js';
import type { ErrorDetail } from '../refusals/refusal.js';
import {
  computeExpectedMaximumSharpe,
  computeProbabilisticSharpe,
  createSharpeSample,
  type SharpeSample,
} from './deflated-sharpe.js';
import { createOverfitting, type Overfitting } from './overfitting.js';
import { createFan, type Fan } from './fan.js';
import { createFoldStudy, type ChoiceByFolds, type FoldsTooShort } from './choose-by-folds.js';
import type { SweepFolds } from './fold-terms.js';
import type { OutcomeSource } from './outcome-source.js';
import type { VariantRun } from './run-variants.js';
import { findPreference, type RankingName } from './rankings.js';

/** Run of a variant, without its levels. */
export interface RunSummary {
  readonly metrics: BacktestMetrics;
  readonly totalCosts: number;
  /** First and last day of the run. */
  readonly start: number;
  readonly end: number;
  /** Number of dates. */
  readonly observations: number;
}

/** Row of a variant in the table. */
export interface SweepRow {
  /** Rank, 1 for the best; null for a refused variant. */
  readonly rank: number | null;
  /** Index of the variant. */
  readonly variant: number;
  readonly run: RunSummary | null;
  readonly error: ErrorDetail | null;
  /** Probability that the true Sharpe ratio exceeds the expected maximum of all trials without skill. */
  readonly deflatedSharpe: number | null;
}

/** Effect of choosing the best of several variants on its Sharpe ratio. Ratios are per session, not annualised. */
export interface Selection {
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
  readonly selection: Selection | null;
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
  const getValue = ({ metrics }: RunSummary): number => sign * (metrics[rankBy] ?? 0);
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
  readonly run: RunSummary;
  readonly sample: SharpeSample;
}

/** Summarises each outcome, in the order of the variants. */
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

/** Returns the returns between some days of a run. */
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
