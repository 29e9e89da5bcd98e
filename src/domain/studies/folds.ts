import { raiseToPower } from '#kernels/power.js';
import { type BacktestMetrics, computeBacktestMetrics } from '../analytics/returns.js';
import { createDistribution, type Distribution } from '../analytics/simulation.js';
import { CONSTANT_VARIANCE } from '../base/numbers.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import { findPreference, type FoldRanking, type SweepFolds } from './sweep.js';

/** Split into a sample and a test, as bit masks of groups. */
interface Split {
  readonly train: number;
  readonly test: number;
}

export interface Splits {
  /** Splits in the order of their tests. */
  readonly splits: readonly Split[];
  /** Split that tests each group, for each path; -1 for a group that the path does not test. */
  readonly paths: readonly (readonly number[])[];
}

/** Returns all splits of the groups, and the paths formed by their tests. A path tests each group at most once. */
export function createSplits(folds: SweepFolds): Splits {
  return folds.method === 'combinatorial' ? createCombinatorialSplits(folds) : createWalkForwardSplits(folds);
}

/**
 * Returns all choices of test groups. The j-th test of each group belongs to the j-th path. In this way C(N - 1, k - 1)
 * paths cover all groups.
 * @source López de Prado (2018), Advances in Financial Machine Learning, section 12.4.
 */
function createCombinatorialSplits({
  groups,
  test_groups: count,
}: Extract<SweepFolds, { method: 'combinatorial' }>): Splits {
  const all = (1 << groups) - 1;
  const splits = listChoices(groups, count).map((test) => ({ train: all & ~test, test }));
  const tests = listGroupsBelow(groups).map((group) =>
    splits.flatMap(({ test }, split) => (hasGroup(test, group) ? [split] : [])),
  );
  return { splits, paths: tests[0]!.map((_, path) => tests.map((ofGroup) => ofGroup[path]!)) };
}

/** Returns the splits that test each group with earlier groups as the sample. */
function createWalkForwardSplits({
  groups,
  train_groups: first,
  window,
}: Extract<SweepFolds, { method: 'walk_forward' }>): Splits {
  const splits = listGroupsBelow(groups - first).map((i) => {
    const test = first + i;
    const before = (1 << test) - 1;
    return { train: window === 'expanding' ? before : before & ~((1 << (test - first)) - 1), test: 1 << test };
  });
  return { splits, paths: [listGroupsBelow(groups).map((group) => (group < first ? -1 : group - first))] };
}

function hasGroup(mask: number, group: number): boolean {
  return (mask & (1 << group)) !== 0;
}

/** Returns the groups of a mask, ascending. */
function listGroups(mask: number, groupCount: number): number[] {
  return listGroupsBelow(groupCount).filter((group) => hasGroup(mask, group));
}

function listGroupsBelow(groupCount: number): number[] {
  return Array.from({ length: groupCount }, (_, group) => group);
}

/** Returns all choices of `count` groups as bit masks, in lexicographic order. */
export function listChoices(groupCount: number, count: number, from = 0): number[] {
  if (count === 0) return [0];
  const choices: number[] = [];
  for (let first = from; first <= groupCount - count; first++)
    for (const laterChoice of listChoices(groupCount, count - 1, first + 1)) choices.push((1 << first) | laterChoice);
  return choices;
}

/** Figures of a range of consecutive returns, which can be joined with the figures of later returns. */
interface Stretch {
  count: number;
  /** Sum of returns less a common mean. Subtracting the mean avoids cancellation in the sum of squares. */
  sum: number;
  squares: number;
  /** Level at the end, relative to 1 at the start. */
  growth: number;
  /** Highest and lowest level, including the start. */
  high: number;
  low: number;
  /** Maximum drawdown: lowest ratio of a level to the highest level before it, minus 1. */
  drawdown: number;
}

/** Returns the figures of an empty range. */
export function createEmptyStretch(): Stretch {
  return { count: 0, sum: 0, squares: 0, growth: 1, high: 1, low: 1, drawdown: 0 };
}

/** Computes the figures of returns [from, to). @param mean subtracted from the returns in sums */
export function createStretch(returns: Float64Array, { from, to, mean }: StretchRange): Stretch {
  const stretch = createEmptyStretch();
  for (let t = from; t < to; t++) {
    const deviation = returns[t]! - mean;
    stretch.sum += deviation;
    stretch.squares += deviation * deviation;
    stretch.growth *= 1 + returns[t]!;
    stretch.high = Math.max(stretch.high, stretch.growth);
    stretch.low = Math.min(stretch.low, stretch.growth);
    stretch.drawdown = Math.min(stretch.drawdown, stretch.growth / stretch.high - 1);
  }
  stretch.count = to - from;
  return stretch;
}

export interface StretchRange {
  readonly from: number;
  readonly to: number;
  readonly mean: number;
}

/** Joins later figures to a range, in place. Returns between the two ranges are excluded. */
export function joinStretch(stretch: Stretch, later: Stretch): void {
  stretch.count += later.count;
  stretch.sum += later.sum;
  stretch.squares += later.squares;
  stretch.drawdown = Math.min(stretch.drawdown, later.drawdown, (stretch.growth * later.low) / stretch.high - 1);
  stretch.high = Math.max(stretch.high, stretch.growth * later.high);
  stretch.low = Math.min(stretch.low, stretch.growth * later.low);
  stretch.growth *= later.growth;
}

/**
 * Returns a metric of a range by the conventions of a run. Ratios and volatility are annualised. @param mean mean
 * that was subtracted. @param periods sessions per year
 */
export function computeMetric(
  { count, sum, squares, growth, drawdown }: Stretch,
  { mean, metric, periods }: { readonly mean: number; readonly metric: FoldRanking; readonly periods: number },
): number {
  if (metric === 'annualised_return') return count === 0 ? 0 : raiseToPower(growth, periods / count) - 1;
  if (metric === 'max_drawdown') return drawdown;
  const variance = count < 2 ? 0 : (squares - (sum * sum) / count) / (count - 1);
  const deviation = variance > CONSTANT_VARIANCE ? Math.sqrt(variance) : 0;
  const root = Math.sqrt(periods);
  if (metric === 'volatility') return deviation * root;
  return deviation === 0 ? 0 : ((mean + sum / count) / deviation) * root;
}

/** Numbers of sessions that a sample excludes next to a test. */
interface Trim {
  /** Number of sessions at the end of a group, before a test. */
  readonly before: number;
  /** Number of sessions at the start of a group, after a test. */
  readonly after: number;
}

/**
 * Figures of trials by group in one block of memory. There are figures for the whole group, and for the group without
 * the sessions next to a test.
 */
interface TrialFigures {
  /** Adds a trial. @param returns returns of all groups */
  add(trial: number, returns: Float64Array): void;
  metric(trial: number, over: FiguresRange): number;
}

export interface FiguresRange {
  /** Bit mask of the groups to join. */
  readonly mask: number;
  /** Bit mask of the test groups. Sessions next to these groups are excluded. */
  readonly test: number;
  readonly metric: FoldRanking;
  /** Number of sessions per year. */
  readonly periods: number;
}

export interface FigureTerms {
  readonly groups: number;
  /** Number of returns per group. */
  readonly length: number;
  readonly left: Trim;
}

const TRIMMED_HEAD = 1;
const TRIMMED_TAIL = 2;
const TRIMS = [0, TRIMMED_HEAD, TRIMMED_TAIL, TRIMMED_HEAD | TRIMMED_TAIL] as const;
const FIGURES = ['count', 'sum', 'squares', 'growth', 'high', 'low', 'drawdown'] as const satisfies (keyof Stretch)[];
const STRIDE = FIGURES.length;

export const computeTrialFigureBytes = (groupCount: number): number => 8 * (1 + groupCount * TRIMS.length * STRIDE);

function createTrialFigures(trialCount: number, { groups, length, left }: FigureTerms): TrialFigures {
  const means = new Float64Array(trialCount);
  const values = new Float64Array(trialCount * groups * TRIMS.length * STRIDE);
  const findOffset = (trial: number, group: number, trims: number): number =>
    ((trial * groups + group) * TRIMS.length + trims) * STRIDE;
  const [stretch, later] = [createEmptyStretch(), createEmptyStretch()];
  const emptyStretch = createEmptyStretch();

  return {
    add(trial, returns) {
      let total = 0;
      for (const value of returns) total += value;
      const mean = total / returns.length;
      means[trial] = mean;
      for (let group = 0; group < groups; group++)
        for (const trims of TRIMS) {
          const stretch = createStretch(returns, {
            from: group * length + ((trims & TRIMMED_HEAD) === 0 ? 0 : left.after),
            to: (group + 1) * length - ((trims & TRIMMED_TAIL) === 0 ? 0 : left.before),
            mean,
          });
          FIGURES.forEach((figure, i) => (values[findOffset(trial, group, trims) + i] = stretch[figure]));
        }
    },
    metric(trial, { mask, test, metric, periods }) {
      Object.assign(stretch, emptyStretch);
      for (let group = 0; group < groups; group++) {
        if (!hasGroup(mask, group)) continue;
        const head = group > 0 && hasGroup(test, group - 1) ? TRIMMED_HEAD : 0;
        const tail = group + 1 < groups && hasGroup(test, group + 1) ? TRIMMED_TAIL : 0;
        readInto(later, values, findOffset(trial, group, head | tail));
        joinStretch(stretch, later);
      }
      return computeMetric(stretch, { mean: means[trial]!, metric, periods });
    },
  };
}

/** Reads values in the order of `FIGURES`. */
function readInto(stretch: Stretch, values: Float64Array, position: number): void {
  stretch.count = values[position]!;
  stretch.sum = values[position + 1]!;
  stretch.squares = values[position + 2]!;
  stretch.growth = values[position + 3]!;
  stretch.high = values[position + 4]!;
  stretch.low = values[position + 5]!;
  stretch.drawdown = values[position + 6]!;
}

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
  readonly observations: number;
  /** Number of sessions excluded before and after a test. */
  readonly left: Trim;
  readonly choices: readonly FoldChoice[];
  /** Metrics of the joined out-of-sample returns, if each group is tested once. */
  readonly paths: readonly PathMetrics[];
  readonly inSample: Distribution;
  readonly outOfSample: Distribution;
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
