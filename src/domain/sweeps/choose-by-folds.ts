import { periodsPerYear } from '../calendars/periods-per-year.js';
import { backtestMetrics, type BacktestMetrics } from '../analytics/series.js';
import { distributionOf, type Distribution } from '../simulation/summarise.js';
import type { SweepFolds } from './fold-terms.js';
import { preferenceOf } from './rankings.js';
import { groupsOf, splitsOf, type Split } from './splits.js';
import { createTrialFigures, type TrialFigures, type Trim } from './trial-figures.js';

export interface FoldsInput {
  /** Returns, [N x T], on dates that all trials have. */
  readonly returns: Float64Array;
  readonly trials: number;
  /** Dates of the levels, [T + 1]. */
  readonly days: Int32Array;
  readonly folds: SweepFolds;
  /** Called now and then; stops the work by throwing. */
  readonly tick?: ((fraction: number) => void) | undefined;
}

/** One choice: the trial that was best on the sample, and how it did on the test. */
export interface FoldChoice {
  /** Groups by position. */
  readonly train: readonly number[];
  readonly test: readonly number[];
  readonly trial: number;
  readonly inSample: number;
  readonly outOfSample: number;
  /** Of the trial among all on the test, 1 for the best; trials that are alike share the better rank. */
  readonly rank: number;
}

/** Metrics of a path: what does not need an index to be told. */
export type PathMetrics = Omit<BacktestMetrics, 'tracking_difference' | 'tracking_error'>;

export interface ChoiceByFolds {
  readonly kind: 'chosen';
  readonly folds: SweepFolds;
  /** First and last day with a return, by group. */
  readonly groups: readonly { readonly start: number; readonly end: number }[];
  /** Returns of each trial that take part. */
  readonly observations: number;
  /** Sessions left out before and after a test. */
  readonly left: Trim;
  readonly choices: readonly FoldChoice[];
  /** Of the returns out of sample, joined: each group tested once. */
  readonly paths: readonly PathMetrics[];
  /** The metric that chooses, over the choices. */
  readonly inSample: Distribution;
  readonly outOfSample: Distribution;
  /** Each metric over the paths. */
  readonly overPaths: Readonly<Record<keyof PathMetrics, Distribution>>;
  /** Share of the paths that lose. */
  readonly probabilityOfLoss: number;
}

/** Groups too short for what is left out of them. */
export interface FoldsTooShort {
  readonly kind: 'short';
  /** Returns that all trials have, and how many it takes. */
  readonly observations: number;
  readonly needed: number;
}

const PERCENTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
const PATH_METRICS = ['annualised_return', 'max_drawdown', 'sharpe_ratio', 'total_return', 'volatility'] as const;
/** Returns that a sample keeps of each group: a deviation takes two. */
const KEPT_MIN = 2;

/**
 * What choosing the best of several trials is worth on data that the choice has not seen. Time is cut into groups of
 * equal length (the oldest returns that do not fill one are left out). Of every split the trial with the best metric on
 * the sample is tested on the other groups; the tests join to paths over all of time. What a change from one trial to
 * another would cost is not in the paths.
 * @cost O(N T) for figures by group, then splits x N x groups
 * @source López de Prado (2018), Advances in Financial Machine Learning, chapters 7 and 12.
 */
export function chooseByFolds({ returns, trials, days, folds, tick }: FoldsInput): ChoiceByFolds | FoldsTooShort {
  const all = returns.length / trials;
  const rowOf = (trial: number): Float64Array => returns.subarray(trial * all, (trial + 1) * all);
  const study = createFoldStudy({ trials, days, folds });
  if (study.kind === 'short') return study;
  for (let trial = 0; trial < trials; trial++) study.add(trial, rowOf(trial));
  return study.end({ rowsOf: (wanted) => new Map(Array.from(wanted, (trial) => [trial, rowOf(trial)])), tick });
}

/** The study for trials whose returns come one after the other: figures by group are all that is kept of each. */
export interface FoldStudy {
  readonly kind: 'study';
  /** @param returns [T] of a trial, each trial once */
  add(trial: number, returns: Float64Array): void;
  end(input: FoldsEnd): ChoiceByFolds;
}

export interface FoldsEnd {
  /** Returns of some trials, [T], by trial: as many at most as there are splits. */
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
  const left = trimOf(folds, all);
  const kept = left.before + left.after + KEPT_MIN;
  if (length < kept) return { kind: 'short', observations: all, needed: kept * folds.groups };
  const from = all - length * folds.groups;
  const figures = createTrialFigures(trials, { groups: folds.groups, length, left });
  return {
    kind: 'study',
    add: (trial, returns) => figures.add(trial, returns.subarray(from)),
    end: (input) => endStudy({ figures, days, folds, length, from, left, trials }, input),
  };
}

interface Study {
  readonly figures: TrialFigures;
  readonly days: Int32Array;
  readonly folds: SweepFolds;
  /** Returns of a group. */
  readonly length: number;
  /** Returns that are left out. */
  readonly from: number;
  readonly left: Trim;
  readonly trials: number;
}

function endStudy(
  { figures, days, folds, length, from, left, trials }: Study,
  { rowsOf, tick }: FoldsEnd,
): ChoiceByFolds {
  const periods = periodsPerYear(days);
  const { splits, paths } = splitsOf(folds);
  const choose = chooserOf(figures, { folds, periods, trials });
  const choices = splits.map((split, i) => {
    tick?.(i / splits.length);
    return choose(split);
  });
  const rows = rowsOf(new Set(choices.map(({ trial }) => trial)));
  const rowOf = (trial: number): Float64Array => rows.get(trial)!.subarray(from); // Each that was chosen was asked for.
  const pathMetrics = paths.map((ofGroup) => pathMetricsOf(ofGroup, { rowOf, choices, length, periods }));
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
    inSample: spread(choices.map(({ inSample }) => inSample)),
    outOfSample: spread(choices.map(({ outOfSample }) => outOfSample)),
    overPaths: Object.fromEntries(
      PATH_METRICS.map((metric) => [metric, spread(pathMetrics.map((path) => path[metric]))]),
    ) as ChoiceByFolds['overPaths'], // Every metric has an entry.
    probabilityOfLoss: pathMetrics.filter((path) => path.total_return < 0).length / pathMetrics.length,
  };
}

/** Share of all sessions that an embargo leaves out unless the request says how many. */
const EMBARGO_SHARE = 0.01;

function trimOf(folds: SweepFolds, observations: number): Trim {
  if (folds.method === 'walk_forward') return { before: folds.purge, after: 0 };
  return { before: folds.purge, after: folds.purge + (folds.embargo ?? Math.ceil(EMBARGO_SHARE * observations)) };
}

/** The trial that is best on the sample of a split, and how it does on the test. */
function chooserOf(
  figures: TrialFigures,
  { folds, periods, trials }: { readonly folds: SweepFolds; readonly periods: number; readonly trials: number },
): (split: Split) => FoldChoice {
  const { groups, select_by: metric } = folds;
  const sign = preferenceOf(metric);
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
      train: groupsOf(train, groups),
      test: groupsOf(test, groups),
      trial,
      inSample: inSample[trial]!,
      outOfSample: outOfSample[trial]!,
      rank: 1 + better,
    };
  };
}

interface PathInput {
  /** Returns that take part, by trial. */
  rowOf(trial: number): Float64Array;
  readonly choices: readonly FoldChoice[];
  readonly length: number;
  /** Sessions of a year. */
  readonly periods: number;
}

/** Metrics of the returns that the choices of a path have out of sample, one group after the other. */
function pathMetricsOf(splitOfGroup: readonly number[], { rowOf, choices, length, periods }: PathInput): PathMetrics {
  const level = [1];
  splitOfGroup.forEach((split, group) => {
    if (split < 0) return;
    const row = rowOf(choices[split]!.trial);
    for (let t = group * length; t < (group + 1) * length; t++) level.push(level.at(-1)! * (1 + row[t]!));
  });
  const metrics = backtestMetrics(Float64Array.from(level), null, periods);
  return Object.fromEntries(PATH_METRICS.map((name) => [name, metrics[name]])) as PathMetrics; // Of every name.
}

function spread(values: readonly number[]): Distribution {
  return distributionOf(Float64Array.from(values), PERCENTILES);
}
