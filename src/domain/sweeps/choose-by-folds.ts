import { estimatePeriodsPerYear } from '../calendars/periods-per-year.js';
import { computeBacktestMetrics, type BacktestMetrics } from '../analytics/series.js';
import { createDistribution, type Distribution } from '../simulation/summarise.js';
import type { SweepFolds } from './fold-terms.js';
import { findPreference } from './rankings.js';
import { listGroups, createSplits, type Split } from './splits.js';
import { createTrialFigures, type TrialFigures, type Trim } from './trial-figures.js';

export interface FoldsInput {
  /** Returns on the common dates of all trials, [N x T]. */
  readonly returns: Float64Array;
  readonly trials: number;
  /** Days of the levels, [T + 1]. */
  readonly days: Int32Array;
  readonly folds: SweepFolds;
  /** Called regularly; may throw to stop the work. */
  readonly tick?: ((fraction: number) => void) | undefined;
}

/** Choice at one split: the best trial on the sample, and its result on the test. */
export interface FoldChoice {
  /** Numbers of the sample and test groups. */
  readonly train: readonly number[];
  readonly test: readonly number[];
  readonly trial: number;
  readonly inSample: number;
  readonly outOfSample: number;
  /** Rank of the trial among all trials on the test, 1 for the best. Equal trials share the better rank. */
  readonly rank: number;
}

/** Metrics of a path, which do not depend on an index. */
export type PathMetrics = Omit<BacktestMetrics, 'tracking_difference' | 'tracking_error'>;

export interface ChoiceByFolds {
  readonly kind: 'chosen';
  readonly folds: SweepFolds;
  /** First and last day with a return, by group. */
  readonly groups: readonly { readonly start: number; readonly end: number }[];
  /** Number of returns of each trial. */
  readonly observations: number;
  /** Number of sessions excluded before and after a test. */
  readonly left: Trim;
  readonly choices: readonly FoldChoice[];
  /** Metrics of the joined out-of-sample returns, if each group is tested once. */
  readonly paths: readonly PathMetrics[];
  /** Distribution of the metric of the choices, over all choices. */
  readonly inSample: Distribution;
  readonly outOfSample: Distribution;
  /** Distribution of each metric over the paths. */
  readonly overPaths: Readonly<Record<keyof PathMetrics, Distribution>>;
  /** Fraction of the paths with a loss. */
  readonly probabilityOfLoss: number;
}

/** Result if groups are too short for their exclusions. */
export interface FoldsTooShort {
  readonly kind: 'short';
  /** Number of common returns, and the required number. */
  readonly observations: number;
  readonly needed: number;
}

const PERCENTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
const PATH_METRICS = ['annualised_return', 'max_drawdown', 'sharpe_ratio', 'total_return', 'volatility'] as const;
/** Minimum number of returns of each group that must remain in a sample, to compute a deviation. */
const SAMPLE_RETURNS_MIN = 2;

/**
 * Measures the out-of-sample value of choosing the best of several trials. Time is divided into groups of equal length;
 * the oldest returns that do not fill a group are excluded. For every split, the trial with the best metric on the
 * sample is tested on the other groups. The tests are joined to paths over the whole period. Paths exclude the cost of
 * switching between trials.
 * @cost O(N T) for figures by group, then splits x N x groups
 * @source López de Prado (2018), Advances in Financial Machine Learning, chapters 7 and 12.
 */
export function chooseByFolds({ returns, trials, days, folds, tick }: FoldsInput): ChoiceByFolds | FoldsTooShort {
  const all = returns.length / trials;
  const getRow = (trial: number): Float64Array => returns.subarray(trial * all, (trial + 1) * all);
  const study = createFoldStudy({ trials, days, folds });
  if (study.kind === 'short') return study;
  for (let trial = 0; trial < trials; trial++) study.add(trial, getRow(trial));
  return study.end({ rowsOf: (wanted) => new Map(Array.from(wanted, (trial) => [trial, getRow(trial)])), tick });
}

/** Study of trials whose returns are added one trial at a time. It keeps only figures by group. */
export interface FoldStudy {
  readonly kind: 'study';
  /** Adds a trial. @param returns [T], each trial once */
  add(trial: number, returns: Float64Array): void;
  end(input: FoldsEnd): ChoiceByFolds;
}

export interface FoldsEnd {
  /** Returns the returns of some trials by trial, [T]. At most one trial per split is requested. */
  rowsOf(trials: ReadonlySet<number>): ReadonlyMap<number, Float64Array>;
  readonly tick?: FoldsInput['tick'];
}

export function createFoldStudy({
  trials,
  days,
  folds,
}: Pick<FoldsInput, 'trials' | 'days' | 'folds'>): FoldStudy | FoldsTooShort {
  const all = Math.max(0, days.length - 1);
  const length = Math.floor(all / folds.groups);
  const trim = computeTrim(folds, all);
  const returnsMin = trim.before + trim.after + SAMPLE_RETURNS_MIN;
  if (length < returnsMin) return { kind: 'short', observations: all, needed: returnsMin * folds.groups };
  const from = all - length * folds.groups;
  const figures = createTrialFigures(trials, { groups: folds.groups, length, left: trim });
  return {
    kind: 'study',
    add: (trial, returns) => figures.add(trial, returns.subarray(from)),
    end: (input) => endStudy({ figures, days, folds, length, from, left: trim, trials }, input),
  };
}

interface FoldStudyState {
  readonly figures: TrialFigures;
  readonly days: Int32Array;
  readonly folds: SweepFolds;
  /** Number of returns in a group. */
  readonly length: number;
  /** Number of oldest returns, which fill no group and are excluded. */
  readonly from: number;
  readonly left: Trim;
  readonly trials: number;
}

function endStudy(
  { figures, days, folds, length, from, left, trials }: FoldStudyState,
  { rowsOf, tick }: FoldsEnd,
): ChoiceByFolds {
  const periods = estimatePeriodsPerYear(days);
  const { splits, paths } = createSplits(folds);
  const choose = createChooser(figures, { folds, periods, trials });
  const choices = splits.map((split, i) => {
    tick?.(i / splits.length);
    return choose(split);
  });
  const rows = rowsOf(new Set(choices.map(({ trial }) => trial)));
  const getRow = (trial: number): Float64Array => rows.get(trial)!.subarray(from); // the returns of each chosen trial were requested
  const pathMetrics = paths.map((ofGroup) => computePathMetrics(ofGroup, { rowOf: getRow, choices, length, periods }));
  return {
    kind: 'chosen',
    folds,
    groups: Array.from({ length: folds.groups }, (_, group) => ({
      start: days[from + group * length + 1]!,
      end: days[from + (group + 1) * length]!,
    })),
    observations: length * folds.groups,
    left,
    choices,
    paths: pathMetrics,
    inSample: computeDistribution(choices.map(({ inSample }) => inSample)),
    outOfSample: computeDistribution(choices.map(({ outOfSample }) => outOfSample)),
    overPaths: Object.fromEntries(
      PATH_METRICS.map((metric) => [metric, computeDistribution(pathMetrics.map((path) => path[metric]))]),
    ) as ChoiceByFolds['overPaths'], // every metric has an entry
    probabilityOfLoss: pathMetrics.filter((path) => path.total_return < 0).length / pathMetrics.length,
  };
}

/** Default length of an embargo, as a fraction of all sessions. */
const EMBARGO_SHARE = 0.01;

function computeTrim(folds: SweepFolds, observationCount: number): Trim {
  if (folds.method === 'walk_forward') return { before: folds.purge, after: 0 };
  return { before: folds.purge, after: folds.purge + (folds.embargo ?? Math.ceil(EMBARGO_SHARE * observationCount)) };
}

/** Returns a function that chooses the best trial on the sample of a split, with its result on the test. */
function createChooser(
  figures: TrialFigures,
  { folds, periods, trials }: { readonly folds: SweepFolds; readonly periods: number; readonly trials: number },
): (split: Split) => FoldChoice {
  const { groups, select_by: metric } = folds;
  const sign = findPreference(metric);
  const [inSample, outOfSample] = [new Float64Array(trials), new Float64Array(trials)];
  return ({ train, test }) => {
    let trial = 0;
    for (let n = 0; n < trials; n++) {
      inSample[n] = figures.metric(n, { mask: train, test, metric, periods });
      outOfSample[n] = figures.metric(n, { mask: test, test: 0, metric, periods });
      if (sign * inSample[n]! > sign * inSample[trial]!) trial = n;
    }
    let better = 0;
    for (const value of outOfSample) if (sign * value > sign * outOfSample[trial]!) better++;
    return {
      train: listGroups(train, groups),
      test: listGroups(test, groups),
      trial,
      inSample: inSample[trial]!,
      outOfSample: outOfSample[trial]!,
      rank: 1 + better,
    };
  };
}

interface PathInput {
  /** Returns the used returns of a trial. */
  rowOf(trial: number): Float64Array;
  readonly choices: readonly FoldChoice[];
  readonly length: number;
  /** Number of sessions per year. */
  readonly periods: number;
}

/** Computes metrics of the out-of-sample returns of the choices along a path, group by group. */
function computePathMetrics(
  splitOfGroup: readonly number[],
  { rowOf, choices, length, periods }: PathInput,
): PathMetrics {
  const level = [1];
  splitOfGroup.forEach((split, group) => {
    if (split < 0) return;
    const row = rowOf(choices[split]!.trial);
    for (let t = group * length; t < (group + 1) * length; t++) level.push(level.at(-1)! * (1 + row[t]!));
  });
  const metrics = computeBacktestMetrics(Float64Array.from(level), null, periods);
  return Object.fromEntries(PATH_METRICS.map((name) => [name, metrics[name]])) as PathMetrics; // the object has every metric
}

function computeDistribution(values: readonly number[]): Distribution {
  return createDistribution(Float64Array.from(values), PERCENTILES);
}
