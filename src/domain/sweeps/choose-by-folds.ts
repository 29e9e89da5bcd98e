import { periodsPerYear } from '../calendars/periods-per-year.js';
import { backtestMetrics, type BacktestMetrics } from '../analytics/series.js';
import { distributionOf, type Distribution } from '../simulation/summarise.js';
import type { SweepFolds } from './fold-terms.js';
import { preferenceOf, type FoldRanking } from './rankings.js';
import { groupsOf, has, splitsOf, type Split } from './splits.js';
import { emptyStretch, join, metricOf, stretchOf, type Stretch } from './stretch.js';

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

interface Trim {
  /** Sessions at the end of a sample, before a test. */
  readonly before: number;
  /** Sessions at its beginning, after a test. */
  readonly after: number;
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
  const length = Math.floor(all / folds.groups);
  const periods = periodsPerYear(days);
  const left = trimOf(folds, all);
  const kept = left.before + left.after + KEPT_MIN;
  if (length < kept) return { kind: 'short', observations: all, needed: kept * folds.groups };
  const { splits, paths } = splitsOf(folds);
  const from = all - length * folds.groups;
  const rows = Array.from({ length: trials }, (_, n) => returns.subarray(n * all + from, (n + 1) * all));
  const figures = rows.map((row) => figuresOf(row, { groups: folds.groups, length, left }));
  const choices = splits.map((split, i) => {
    tick?.(i / splits.length);
    return choiceOf(figures, split, { folds, periods });
  });
  const pathMetrics = paths.map((ofGroup) => pathMetricsOf(ofGroup, { rows, choices, length, periods }));
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

/** Figures of a trial by group, each whole and without what lies beside a test. */
interface TrialFigures {
  readonly mean: number;
  /** By group, then by `TRIMMED_HEAD` and `TRIMMED_TAIL`. */
  readonly stretches: readonly (readonly Stretch[])[];
}

const TRIMMED_HEAD = 1;
const TRIMMED_TAIL = 2;
const TRIMS = [0, TRIMMED_HEAD, TRIMMED_TAIL, TRIMMED_HEAD | TRIMMED_TAIL] as const;

function figuresOf(
  row: Float64Array,
  { groups, length, left }: { readonly groups: number; readonly length: number; readonly left: Trim },
): TrialFigures {
  let total = 0;
  for (const value of row) total += value;
  const mean = total / row.length;
  const stretches = Array.from({ length: groups }, (_, group) =>
    TRIMS.map((trims) =>
      stretchOf(row, {
        from: group * length + ((trims & TRIMMED_HEAD) === 0 ? 0 : left.after),
        to: (group + 1) * length - ((trims & TRIMMED_TAIL) === 0 ? 0 : left.before),
        mean,
      }),
    ),
  );
  return { mean, stretches };
}

function choiceOf(
  figures: readonly TrialFigures[],
  { train, test }: Split,
  { folds, periods }: { readonly folds: SweepFolds; readonly periods: number },
): FoldChoice {
  const { groups, select_by: metric } = folds;
  const inSample = figures.map((trial) => metricOver(trial, { mask: train, test, metric, periods }));
  const outOfSample = figures.map((trial) => metricOver(trial, { mask: test, test: 0, metric, periods }));
  const sign = preferenceOf(metric);
  let trial = 0;
  inSample.forEach((value, n) => {
    if (sign * value > sign * inSample[trial]!) trial = n;
  });
  return {
    train: groupsOf(train, groups),
    test: groupsOf(test, groups),
    trial,
    inSample: inSample[trial]!,
    outOfSample: outOfSample[trial]!,
    rank: 1 + outOfSample.filter((value) => sign * value > sign * outOfSample[trial]!).length,
  };
}

interface Over {
  /** Groups that are joined. */
  readonly mask: number;
  /** Groups beside which sessions are left out. */
  readonly test: number;
  readonly metric: FoldRanking;
  /** Sessions of a year. */
  readonly periods: number;
}

function metricOver({ mean, stretches }: TrialFigures, { mask, test, metric, periods }: Over): number {
  const joined = emptyStretch();
  stretches.forEach((trims, group) => {
    if (!has(mask, group)) return;
    const head = group > 0 && has(test, group - 1) ? TRIMMED_HEAD : 0;
    const tail = group + 1 < stretches.length && has(test, group + 1) ? TRIMMED_TAIL : 0;
    join(joined, trims[head | tail]!);
  });
  return metricOf(joined, { mean, metric, periods });
}

interface PathInput {
  /** Returns by trial. */
  readonly rows: readonly Float64Array[];
  readonly choices: readonly FoldChoice[];
  readonly length: number;
  /** Sessions of a year. */
  readonly periods: number;
}

/** Metrics of the returns that the choices of a path have out of sample, one group after the other. */
function pathMetricsOf(splitOfGroup: readonly number[], { rows, choices, length, periods }: PathInput): PathMetrics {
  const level = [1];
  splitOfGroup.forEach((split, group) => {
    if (split < 0) return;
    const row = rows[choices[split]!.trial]!;
    for (let t = group * length; t < (group + 1) * length; t++) level.push(level.at(-1)! * (1 + row[t]!));
  });
  const metrics = backtestMetrics(Float64Array.from(level), null, periods);
  return Object.fromEntries(PATH_METRICS.map((name) => [name, metrics[name]])) as PathMetrics; // Of every name.
}

function spread(values: readonly number[]): Distribution {
  return distributionOf(Float64Array.from(values), PERCENTILES);
}
