import { formatDay, type Day } from '#domain/time/days.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import { select } from '#domain/numbers/select.js';
import type { MarketContent } from '../content/market-content.js';

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
