import { findFirstAtLeast, findUpperMedian, select } from '#domain/base/numbers.js';
import { type Day, formatDay } from '#domain/base/time.js';
import {
  ACTION_KINDS,
  type Adjustment,
  type CorporateAction,
  type DataWarningKind,
} from '#domain/market/market-data.js';
import { findNearestGrowth } from '#domain/market/growth.js';
import type { MarketContent } from '../content/market-content.js';
import type { ActionStep } from './market-warnings.js';

/** A change to a store that would resolve a data warning. Days are inclusive. */
export type Repair =
  | Scale
  | {
      readonly kind: 'remove_values';
      readonly identifier: string;
      readonly from: string;
      readonly to: string;
      readonly columns: readonly string[];
    }
  | { readonly kind: 'insert_action'; readonly action: ActionRow }
  | {
      readonly kind: 'replace_action';
      readonly action: ActionRow;
      readonly value: number;
      /** Corrected ex-date; absent if the ex-date is unchanged. */
      readonly ex_date?: string;
    }
  | { readonly kind: 'remove_action'; readonly action: ActionRow };

/** Multiplication of columns by a factor; share counts on the same days are divided by it. */
interface Scale {
  readonly kind: 'scale';
  readonly identifier: string;
  readonly from: string;
  readonly to: string;
  readonly columns: readonly string[];
  readonly factor: number;
  readonly inverse_columns?: readonly string[];
}

/** Fields that identify an action. */
export interface ActionRow {
  readonly identifier: string;
  readonly type: CorporateAction['type'];
  readonly value: number;
  readonly ex_date: string;
}

/** Probable error in a store. */
export interface DataWarning {
  /** Identifies the data warning in a request for repairs; equal data gives equal ids. */
  readonly id: string;
  readonly kind: DataWarningKind;
  readonly identifier: string;
  readonly date: string;
  /** Confidence in the finding, 0 to 1. */
  readonly confidence: number;
  readonly message: string;
  /** Figures that support the warning. */
  readonly evidence: Readonly<Record<string, number | string>>;
  /** Null if the data does not determine the correct value. */
  readonly repair: Repair | null;
}

/** Bars of one security, indexed by bar, and its corporate actions. */
export interface SecurityHistory {
  readonly identifier: string;
  readonly position: number;
  /** Rows of the store with a CLOSE of the security, [B]. */
  readonly rows: Int32Array;
  /** Days and closes of the bars, [B]. */
  readonly days: Int32Array;
  readonly close: Float64Array;
  /**
   * Close divided by the previous close on the same share basis, minus 1. It is NaN for the first bar. Splits with a
   * wrong date are ignored.
   */
  readonly returns: Float64Array;
  /**
   * Typical size of a return around each bar. It is the median absolute return of the sixty surrounding bars, scaled to
   * a standard deviation.
   */
  readonly sigma: Float64Array;
  /** Actions with the bar on which they take effect. The bar is B if an action takes effect after the last bar. */
  readonly actions: readonly DatedAction[];
  /**
   * Splits whose date is wrong: prices as traded show the split on a nearby bar without an action, and not on the bar
   * of its ex-date.
   */
  readonly misdated: ReadonlySet<DatedAction>;
}

interface DatedAction {
  readonly bar: number;
  readonly action: CorporateAction;
}

/** Number of bars on each side from which the usual volatility is estimated. */
const WINDOW_BARS = 30;
/** Minimum volatility. Without it, every small move of a stable price would be unusual. */
const SIGMA_MIN = 0.005;
const RATIO_TYPES: ReadonlySet<string> = new Set(['SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE']);
/**
 * Maximum distance in bars between a split in the prices and an action with the same ratio. Within it, they count as
 * the same split with a wrong ex-date.
 */
export const EX_DATE_BARS = 5;
/** Minimum log ratio of a split whose date can be checked. Ordinary moves hide smaller ratios. */
const MISDATED_MIN = Math.log(1.2);
/** Inverse of the median absolute value of a standard normal. */
const MEDIAN_TO_DEVIATION = 1.4826;

/**
 * Yields the histories of all securities with at least two closes, one at a time.
 * @param adjustment the price basis: splits count only in unadjusted prices
 */
export function* listSecurityHistories(
  content: MarketContent,
  adjustment: 'none' | 'splits' | 'total',
): Generator<SecurityHistory> {
  const { identifiers, dates } = content;
  const panel = content.fields.get('CLOSE')!;
  const actions = new Map<string, CorporateAction[]>();
  for (const action of content.actions) {
    if (action.status === 'cancelled') continue;
    const corporateActions = actions.get(action.identifier);
    if (corporateActions === undefined) actions.set(action.identifier, [action]);
    else corporateActions.push(action);
  }
  const width = identifiers.length;
  const result = new Int32Array(dates.length);
  const prices = new Float64Array(dates.length);
  for (let position = 0; position < width; position++) {
    let bars = 0;
    for (let t = 0, cell = position; t < dates.length; t++, cell += width) {
      const price = panel[cell]!;
      if (Number.isNaN(price)) continue;
      result[bars] = t;
      prices[bars++] = price;
    }
    if (bars < 2) continue;
    const rows = result.slice(0, bars);
    const days = rows.map((t) => dates[t]!);
    const close = prices.slice(0, bars);
    const actionsOnBars = (actions.get(identifiers[position]!) ?? []).map((action) => ({
      bar: findFirstAtLeast(days, action.exDay),
      action,
    }));
    const splits =
      adjustment === 'none'
        ? actionsOnBars.filter(({ bar, action }) => RATIO_TYPES.has(action.type) && bar > 0 && bar < close.length)
        : [];
    const misdatedActions = new Set<DatedAction>(splits.filter((split) => isMisdated(close, split, splits)));
    const returns = computeReturns(
      close,
      splits.filter((split) => !misdatedActions.has(split)),
    );
    yield {
      identifier: identifiers[position]!,
      position,
      rows,
      days,
      close,
      returns,
      sigma: computeSigma(returns),
      actions: actionsOnBars,
      misdated: misdatedActions,
    };
  }
}

function computeReturns(close: Float64Array, splits: readonly DatedAction[]): Float64Array {
  const returns = new Float64Array(close.length).fill(Number.NaN);
  for (let b = 1; b < close.length; b++) returns[b] = close[b]! / close[b - 1]! - 1;
  for (const { bar, action } of splits) returns[bar] = (1 + returns[bar]!) * action.value - 1;
  return returns;
}

/**
 * Returns true if the price shows the ratio of an action on a nearby bar without a split action, and not on the bar of
 * the action.
 */
function isMisdated(close: Float64Array, { bar, action }: DatedAction, splits: readonly DatedAction[]): boolean {
  const size = Math.abs(Math.log(action.value));
  if (size < MISDATED_MIN) return false;
  const computeDistance = (b: number) => Math.abs(Math.log((close[b]! / close[b - 1]!) * action.value));
  if (computeDistance(bar) < size / 2) return false;
  for (let b = Math.max(1, bar - EX_DATE_BARS); b <= Math.min(bar + EX_DATE_BARS, close.length - 1); b++)
    if (computeDistance(b) < size / 4 && !splits.some((otherDatedAction) => otherDatedAction.bar === b)) return true;
  return false;
}

function computeSigma(returns: Float64Array): Float64Array {
  const sigma = new Float64Array(returns.length);
  const sizes = returns.map((each) => (Number.isNaN(each) ? Infinity : Math.abs(each)));
  const window = new Float64Array(2 * WINDOW_BARS);
  const step = 10; // usual volatility changes slowly
  for (let b = 0; b < returns.length; b += step) {
    const nearbySizes = sizes.subarray(Math.max(1, b - WINDOW_BARS), b + WINDOW_BARS);
    window.set(nearbySizes);
    const count = nearbySizes.length;
    const median = count === 0 ? 0 : select(window, { from: 0, to: count - 1, position: count >> 1 });
    sigma.fill(Math.max(MEDIAN_TO_DEVIATION * median, SIGMA_MIN), b, b + step);
  }
  return sigma;
}

export const formatBarDay = (history: SecurityHistory, bar: number) => formatDay(history.days[bar]! satisfies Day);

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
  readonly width: number;
  /** Cumulative log return of the median security, [T]. */
  readonly level: Float64Array;
  readonly volume: Float64Array | undefined;
  readonly shares: Float64Array | undefined;
  /** Steps of closes with actions, by the cell of their second bar. */
  readonly steps: ReadonlyMap<number, ActionStep>;
}

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

/**
 * Returns the growth of each bar that its actions leave unexplained. Splits whose date is wrong explain nothing on their
 * own bar.
 */
export function explainGrowths(
  { returns, rows, position, misdated }: SecurityHistory,
  { steps, width }: AuditPanels,
): Float64Array {
  const misdatedBars = new Set([...misdated].map(({ bar }) => bar));
  return returns.map((move, b) => {
    const step = misdatedBars.has(b) ? undefined : steps.get(rows[b]! * width + position);
    return step === undefined ? 1 + move : findNearestGrowth(step.growth);
  });
}

/**
 * Returns the bars of actions that change a price by an amount that the actions do not state, unless the move is larger
 * than they can explain.
 */
export function listStructuralBars(
  { actions, rows, position }: SecurityHistory,
  { steps, width }: AuditPanels,
): ReadonlySet<number> {
  const isExplained = (bar: number) => steps.get(rows[bar]! * width + position)?.isJump !== true;
  return new Set(
    actions
      .filter(({ action, bar }) => ACTION_KINDS[action.type] === 'structural' && isExplained(bar))
      .map(({ bar }) => bar),
  );
}
