import type { Adjustment } from '#domain/market/market-data.js';
import type { ActionStep } from '../content/action-steps.js';
import type { SecurityHistory } from './name-history.js';
import { findUpperMedian } from '#domain/numbers/order-statistics.js';

/** Ratios of splits and consolidations, each with its share of all splits. */
const SHARE_OF_SPLITS: ReadonlyMap<number, number> = new Map([
  [2, 0.45],
  [3 / 2, 0.2],
  [3, 0.08],
  [4, 0.05],
  [5, 0.03],
  [10, 0.03],
  [5 / 4, 0.02],
  [4 / 3, 0.02],
  ...[5 / 2, 5 / 3, 6, 7, 8, 15, 20, 25, 50].map((ratio) => [ratio, 0.005] as const),
  [1 / 10, 0.03],
  [1 / 5, 0.02],
  [1 / 2, 0.01],
  [1 / 3, 0.01],
  [1 / 4, 0.01],
  ...[6, 7, 8, 12, 15, 20, 25, 30, 40, 50].map((ratio) => [1 / ratio, 0.005] as const),
]);

/** Number of unrecorded splits per security and year, by the declared price adjustment. */
const UNRECORDED_PER_YEAR: Readonly<Record<Adjustment, number>> = { none: 0.03, splits: 0.008, total: 0.008 };
const DAYS_PER_YEAR = 365.25;

/** Number of bars before a move from which usual volatility is estimated. The second value is the minimum number. */
const BARS_BEFORE = 30;
const BARS_BEFORE_MIN = 10;
/** Number of bars after a move that show whether the move was news. */
const BARS_AFTER = 5;
const USUAL_MIN = 0.006;
const MEDIAN_TO_DEVIATION = 1.4826;

/**
 * Distributions of large real moves. The density of a log move x is `scale a u^3 0.4^(a-3) / x^(a+1)` at a usual move
 * u. The exponents and the scale were fitted to 1,250 real moves of at least 0.29 in logs, of 2,080 securities, 1990 to
 * 2023.
 */
const FALL_TAIL = { scale: 0.3, exponent: 4 };
const RISE_TAIL = { scale: 0.24, exponent: 6 };

/**
 * Standard deviation of the log ratio of the day's volume to the usual volume after a split. Its mean is 0 or the log
 * of the split ratio. After news, mean and deviation are those of `NEWS_VOLUME`.
 */
const VOLUME_SPREAD = 0.4;
const NEWS_VOLUME = { centre: 1.5, spread: 0.9 };
const VOLUME_BARS = 20;
const VOLUME_BARS_MIN = 5;

/** Number of bars before and after a split within which reported share counts must change by its ratio. */
const SHARES_BARS = 65;
const SHARES_TOLERANCE = 0.03;
const SHARES_LOG_ODDS = 4;

/** Data of the whole market that the audit uses in addition to the history of one security. */
export interface AuditPanels {
  readonly adjustment: Adjustment;
  /** Number of securities, the width of the panels. */
  readonly width: number;
  /** Cumulative log return of the median security, [T]. */
  readonly level: Float64Array;
  readonly volume: Float64Array | undefined;
  readonly shares: Float64Array | undefined;
  /** Steps of closes with actions, by the cell of their second bar. */
  readonly steps: ReadonlyMap<number, ActionStep>;
}

/** Interpretation of a jump as a split. */
export interface SplitReading {
  readonly ratio: number;
  /** Probability that the jump is a split, 0 to 1. */
  readonly probability: number;
  /** Log distance of the growth from the ratio, net of the market. */
  readonly distance: number;
  readonly marketMove: number;
  /** Mean size of the following moves relative to the usual size; null if there are none. */
  readonly after: number | null;
  /** Volume of the day divided by the median volume before; null if unknown. */
  readonly volumeRatio: number | null;
  /** True if volume or shares outstanding change by the ratio on this day. */
  readonly stepsVolume: boolean;
  readonly stepsShares: boolean;
}

/**
 * Returns the split that best explains a growth, with its probability. The probability is the prior probability of the
 * ratio, times the density of the remaining move, relative to the density of a real move of that size. A split is not
 * news: volatility after the split, and the traded number of shares or value, are the same as before.
 * @param growth of the bar, on the share basis of its day and including the cash of recorded actions
 * @param isRecorded returns true if an action confirms a split of this ratio on the day
 */
export function readAsSplit(
  history: SecurityHistory,
  bar: number,
  growth: number,
  panels: AuditPanels,
  isRecorded: (ratio: number) => boolean,
): SplitReading {
  const usualMove = computeUsualMove(history.returns, bar);
  const move = Math.log(growth);
  const marketMove = panels.level[history.rows[bar]!]! - panels.level[history.rows[bar - 1]!]!;
  const expectedSplits = UNRECORDED_PER_YEAR[panels.adjustment] * computeBarYears(history);
  const bestSplit = [...SHARE_OF_SPLITS]
    .map(([ratio, share]) => {
      const distance = move - marketMove + Math.log(ratio);
      const prior = isRecorded(ratio) ? 1 : expectedSplits * share;
      return {
        ratio,
        distance,
        logDensity: Math.log(prior) + computeLogStudent(distance / usualMove) - Math.log(usualMove),
      };
    })
    .reduce((a, b) => (b.logDensity > a.logDensity ? b : a));
  const meanAfter = computeMeanAfter(history, bar, panels.level, usualMove);
  const volume = readVolume(history, bar, bestSplit.ratio, panels);
  const isShareStep = hasShareStep(history, bar, bestSplit.ratio, panels);
  const logOdds =
    bestSplit.logDensity -
    computeLogRealDensity(move, usualMove) +
    (meanAfter === null ? 0 : Math.min(1.2, Math.max(-3, 2.5 - 2.2 * meanAfter))) +
    (volume?.logOdds ?? 0) +
    (isShareStep ? SHARES_LOG_ODDS : 0);
  return {
    ratio: bestSplit.ratio,
    distance: bestSplit.distance,
    marketMove,
    after: meanAfter,
    probability: 1 / (1 + Math.exp(-logOdds)),
    volumeRatio: volume?.ratio ?? null,
    stepsVolume: volume?.steps ?? false,
    stepsShares: isShareStep,
  };
}

const computeBarYears = ({ days }: SecurityHistory) => (days.at(-1)! - days[0]!) / (days.length - 1) / DAYS_PER_YEAR;

/** Returns the typical size of the returns before a bar, or after it near the start of the history. */
function computeUsualMove(returns: Float64Array, bar: number): number {
  const earlierReturns = returns.subarray(Math.max(1, bar - BARS_BEFORE), bar);
  const window =
    earlierReturns.length < BARS_BEFORE_MIN ? returns.subarray(bar + 1, bar + 1 + BARS_BEFORE) : earlierReturns;
  return window.length === 0 ? 0.02 : Math.max(MEDIAN_TO_DEVIATION * findUpperMedian(window.map(Math.abs)), USUAL_MIN);
}

function computeMeanAfter(
  { returns, rows }: SecurityHistory,
  bar: number,
  level: Float64Array,
  usual: number,
): number | null {
  const last = Math.min(bar + BARS_AFTER, returns.length - 1);
  if (last < bar + 2) return null;
  let sum = 0;
  for (let b = bar + 1; b <= last; b++)
    sum += Math.abs(Math.log(1 + returns[b]!) - (level[rows[b]!]! - level[rows[b - 1]!]!));
  return sum / (last - bar) / usual;
}

function computeLogRealDensity(move: number, usual: number): number {
  const { scale, exponent } = move < 0 ? FALL_TAIL : RISE_TAIL;
  return (
    Math.log(scale * exponent) +
    3 * Math.log(usual) +
    (exponent - 3) * Math.log(0.4) -
    (exponent + 1) * Math.log(Math.abs(move))
  );
}

/** Returns the log density of Student's t with four degrees of freedom. */
export const computeLogStudent = (z: number) => Math.log(0.375) - 2.5 * Math.log(1 + (z * z) / 4);

interface VolumeReading {
  readonly ratio: number;
  readonly logOdds: number;
  readonly steps: boolean;
}

function readVolume(
  { rows, position }: SecurityHistory,
  bar: number,
  ratio: number,
  { volume, width }: AuditPanels,
): VolumeReading | undefined {
  if (volume === undefined) return undefined;
  const sumTrade = (from: number, to: number) =>
    Float64Array.from(rows.subarray(Math.max(0, from), to), (t) => volume[t * width + position]!).filter(
      (shares) => shares > 0,
    );
  const volumeBefore = sumTrade(bar - VOLUME_BARS, bar);
  const [today] = sumTrade(bar, bar + 1);
  if (volumeBefore.length < VOLUME_BARS_MIN || today === undefined) return undefined;
  const usualVolume = findUpperMedian(volumeBefore);
  const surprise = Math.log(today / usualVolume);
  const computeSpread = (distance: number, size: number) => computeLogStudent(distance / size) - Math.log(size);
  const splitDensity = Math.max(
    computeSpread(surprise, VOLUME_SPREAD),
    computeSpread(surprise - Math.log(ratio), VOLUME_SPREAD),
  );
  const volumeAfter = sumTrade(bar, bar + VOLUME_BARS);
  return {
    ratio: today / usualVolume,
    logOdds: splitDensity - computeSpread(surprise - NEWS_VOLUME.centre, NEWS_VOLUME.spread),
    steps: isNearer(findUpperMedian(volumeAfter) / usualVolume, ratio),
  };
}

/** Returns true if the number of shares outstanding is multiplied by the ratio near this bar. */
function hasShareStep(
  { rows, position }: SecurityHistory,
  bar: number,
  ratio: number,
  { shares, width }: AuditPanels,
): boolean {
  if (shares === undefined) return false;
  let sharesBefore = Number.NaN;
  for (const t of rows.subarray(Math.max(0, bar - SHARES_BARS), bar + SHARES_BARS)) {
    const shareCount = shares[t * width + position]!;
    if (Number.isNaN(shareCount)) continue;
    if (Math.abs(shareCount / sharesBefore / ratio - 1) < SHARES_TOLERANCE) return true;
    sharesBefore = shareCount;
  }
  return false;
}

/** Returns true if a step is nearer to the ratio than to 1. */
const isNearer = (step: number, ratio: number) => Math.abs(Math.log(step / ratio)) < Math.abs(Math.log(step));
