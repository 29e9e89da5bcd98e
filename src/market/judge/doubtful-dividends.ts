import { findUpperMedian } from '#domain/base/numbers.js';
import { formatDay } from '#domain/base/time.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { computePriceUnit } from '../content/action-rows.js';
import type { MarketContent } from '../content/market-content.js';
import {
  type ActionRow,
  computeLogStudent,
  type DataWarning,
  type Repair,
  type SecurityHistory,
} from './security-histories.js';

/** Columns in which vendors supply a price adjusted for dividends. */
const ADJUSTED_COLUMNS = ['ADJ_CLOSE', 'Adj Close', 'ADJUSTED_CLOSE'];

/** Maximum number of days between two dividends of similar size that count as one dividend reported twice. */
const DUPLICATE_DAYS = 7;
const DUPLICATE_TOLERANCE = 0.15;
/** Yield below which a dividend may be a hundredth of its true size. */
const YIELD_MIN = 1e-3;
/** Tolerance within which a small dividend counts as a hundredth of the usual dividend. */
const HUNDREDTH_TOLERANCE = 0.12;
/** Minimum yield of a dividend that is visible in the price move of its day. */
const VISIBLE_YIELD = 0.03;
/**
 * Maximum deviation of the price move from a real dividend, in standard deviations. The lower maximum applies to yields
 * above a tenth.
 */
const SIGMAS_MISSED = 4;
const SIGMAS_MISSED_LARGE = 2.5;
const YIELD_LARGE = 0.1;
/**
 * Range of yields within which a power of ten of a dividend is proposed as a correction, if there is no other dividend to
 * compare.
 */
const PROPOSED_YIELD_MIN = 1e-4;
const PROPOSED_YIELD_MAX = 0.05;
/** Number of dividends on each side that define the usual size. */
const NEIGHBOUR_COUNT = 4;
/**
 * Maximum ratio of two dividends that have similar size. It is larger if the suspected error is a factor of a hundred.
 */
const SIMILAR_FACTOR = 2;
const SIMILAR_HUNDREDFOLD_FACTOR = 4;
/** Factors by which an amount may be too large: a misplaced decimal point, or a unit of a hundredth or thousandth. */
export const MISTAKEN_FACTORS = [10, 100, 1000];
/** Log odds at which the price move of one day decides about a dividend. */
const LOG_ODDS_CLEAR = 2;
/** Log odds of a hundredth against another power of ten before any evidence: prices in a minor unit are frequent. */
const HUNDREDTH_LOG_ODDS = 1;
/** Minimum yield of a dividend that is searched in adjusted prices. Rounding of prices hides smaller dividends. */
const YIELD_ADJUSTED_MIN = 5e-4;
/** Number of bars before a dividend that show how many decimals adjusted prices have. */
const ROUNDING_BARS = 20;
const RATIO_TYPES: ReadonlySet<string> = new Set(['SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE']);

interface Payment {
  readonly action: CorporateAction;
  readonly bar: number;
  /** Amount divided by the previous close. */
  readonly yield: number;
  /** Return of the session on which the dividend takes effect. */
  readonly move: number;
  readonly sigma: number;
}

/**
 * Finds dividends whose size contradicts the price, that are reported twice, or that the vendor's adjusted price omits.
 */
export function* findDoubtfulDividends(history: SecurityHistory, content: MarketContent): Generator<DataWarning> {
  const payments = listPayments(history);
  const flaggedPayments = new Set<Payment>();
  for (const warning of [
    ...findUnusualSizes(history, payments, flaggedPayments),
    ...findDuplicates(payments, flaggedPayments),
  ])
    yield warning;
  yield* findUnadjusted(history, content, payments, flaggedPayments);
}

function listPayments({ close, returns, sigma, actions }: SecurityHistory): Payment[] {
  return (
    actions
      .filter(
        ({ action, bar }) =>
          (action.type === 'DIVIDEND' || action.type === 'SPECIAL_DIVIDEND') &&
          action.value > 0 &&
          bar > 0 &&
          bar < close.length,
      )
      // The previous close is on the share basis of the ex-date, and so is the amount.
      .map(({ action, bar }) => ({
        action,
        bar,
        yield: (action.value * (1 + returns[bar]!)) / close[bar]!,
        move: returns[bar]!,
        sigma: sigma[bar]!,
      }))
  );
}

function* findUnusualSizes(
  history: SecurityHistory,
  payments: readonly Payment[],
  doubted: Set<Payment>,
): Generator<DataWarning> {
  const deniedPayments = new Set(payments.filter(isDenied));
  const hundredfoldProbability = computeHundredfoldProbability(payments);
  for (const payment of payments) {
    const sizeWarning = deniedPayments.has(payment)
      ? findDeniedSize(payment, payments, deniedPayments)
      : (findOldBasisSize(history, payment, payments) ?? findSmallSize(payment, payments, hundredfoldProbability));
    if (sizeWarning === undefined) continue;
    doubted.add(payment);
    yield sizeWarning;
  }
}

/** True if a dividend is too large for the price move of its day. */
const isDenied = ({ yield: share, move, sigma }: Payment) =>
  share > VISIBLE_YIELD &&
  move + share > (share > YIELD_LARGE ? SIGMAS_MISSED_LARGE : SIGMAS_MISSED) * sigma &&
  move > -share / 2;

/**
 * Finds a dividend whose size contradicts the price. Ignores the dividend if at least half of its neighbours have a
 * similar yield.
 */
function findDeniedSize(
  payment: Payment,
  payments: readonly Payment[],
  denied: ReadonlySet<Payment>,
): DataWarning | undefined {
  const { yield: share, move } = payment;
  const otherPayments = listNeighbours(payment, payments).filter((otherPayment) => !denied.has(otherPayment));
  const similarPayments = otherPayments.filter((otherPayment) => isWithin(share / otherPayment.yield, SIMILAR_FACTOR));
  if (similarPayments.length > 0 && 2 * similarPayments.length >= otherPayments.length) return undefined;
  const { amount, isDecided, others } = findTrueAmount(payment, otherPayments);
  return createSizeWarning(
    payment,
    amount,
    share > YIELD_LARGE && isDecided ? 0.95 : 0.7,
    `the price should have fallen by ${formatPercent(share)} and moved by ${formatPercent(move)}`,
    others === undefined ? undefined : describeGuess(amount, others),
  );
}

/**
 * Returns the amount of a dividend that is too large by a power of ten: a misplaced decimal point, or another unit. Its
 * yield must be similar to that of its neighbours, and the price move must not contradict it in comparison with no
 * dividend; if it is less similar, the price move must support it. The amount is null if there is none. Without
 * neighbours, its yield must be usual, and it is the amount that fits the price move best, with a preference for a
 * hundredth: a guess.
 * @returns `isDecided` is true if the neighbours determine the amount, or if the price move clearly excludes a usual
 *   dividend where the amount is null. `others` has the other possible amounts of a guess.
 */
function findTrueAmount(
  payment: Payment,
  neighbours: readonly Payment[],
): { readonly amount: number | null; readonly isDecided: boolean; readonly others?: readonly number[] } {
  const { action, yield: share } = payment;
  const scale = (times: number) => scaleAmount(action.value, 1 / times);
  if (neighbours.length === 0) {
    const preferByFit = (times: number) =>
      computeLogOdds(payment, 1 / times) + (times === 100 ? HUNDREDTH_LOG_ODDS : 0);
    const [amount, ...others] = MISTAKEN_FACTORS.filter(
      (times) => share / times >= PROPOSED_YIELD_MIN && share / times < PROPOSED_YIELD_MAX,
    )
      .toSorted((a, b) => preferByFit(b) - preferByFit(a))
      .map(scale);
    return { amount: amount ?? null, isDecided: false, others };
  }
  const usualShare = findUpperMedian(neighbours.map((other) => other.yield));
  const isPlausible = (times: number): boolean =>
    isWithin(share / times / usualShare, SIMILAR_HUNDREDFOLD_FACTOR) &&
    computeLogOdds(payment, 1 / times) - computeLogOdds(payment, 0) >
      (isWithin(share / times / usualShare, SIMILAR_FACTOR) ? -LOG_ODDS_CLEAR : 0);
  const measureDistance = (times: number): number => Math.abs(Math.log(share / times / usualShare));
  const [factor] = MISTAKEN_FACTORS.filter(isPlausible).toSorted((a, b) => measureDistance(a) - measureDistance(b));
  return factor === undefined
    ? {
        amount: null,
        isDecided: computeLogOdds(payment, 0) - computeLogOdds(payment, usualShare / share) >= LOG_ODDS_CLEAR,
      }
    : { amount: scale(factor), isDecided: true };
}

/** Returns the sentences that name an amount as a guess, with the other powers of ten that are possible. */
function describeGuess(amount: number | null, others: readonly number[]): string {
  const guess = amount === null ? 'its removal is a guess' : `${amount} is a guess by the price move`;
  const also =
    others.length === 0 ? '' : `; ${others.join(' and ')} ${others.length === 1 ? 'is' : 'are'} also possible`;
  return ` There is no other reliable dividend to compare, so ${guess}${also}.`;
}

/** Returns an amount times a power of ten, with the digits of the amount. */
export const scaleAmount = (amount: number, times: number): number => Number((amount * times).toPrecision(12));

/**
 * Finds a dividend that is stated per share before a split of the same days. Such a dividend is consistent with neither
 * other dividends nor the price.
 */
function findOldBasisSize(
  history: SecurityHistory,
  payment: Payment,
  payments: readonly Payment[],
): DataWarning | undefined {
  const { action, yield: share } = payment;
  const split = history.actions.find(
    (otherDatedAction) =>
      RATIO_TYPES.has(otherDatedAction.action.type) &&
      Math.abs(otherDatedAction.action.exDay - action.exDay) <= 5 &&
      Math.abs(otherDatedAction.action.value - 1) > 0.2,
  )?.action;
  if (split === undefined || payments.length < 2) return undefined;
  const usualShare = findUpperMedian(payments.map((otherPayment) => otherPayment.yield));
  const isOldBasis = isNear(share / split.value, usualShare, 0.35) && !isNear(share, usualShare, 0.6);
  if (!isOldBasis || equalsNeighbour(payment, payments) || computeLogOdds(payment, 1 / split.value) < -LOG_ODDS_CLEAR)
    return undefined;
  return createSizeWarning(
    payment,
    action.value / split.value,
    0.85,
    `it is ${roundShare(share / usualShare)} times as much of the price as others, and the shares were split ${split.value} for 1 at the same time`,
  );
}

/**
 * Finds a dividend that is a tenth, hundredth or thousandth of the other dividends, or a hundredth of the usual price
 * fall on ex-dates. A tenth may be a real reduction: the dividends before and after it must be ten times as large, and
 * the price must have fallen by the larger amount.
 */
function findSmallSize(payment: Payment, payments: readonly Payment[], hundredfold: number): DataWarning | undefined {
  const { action, yield: share } = payment;
  if (share < YIELD_MIN && hundredfold > 0.5)
    return createSizeWarning(
      payment,
      scaleAmount(action.value, 100),
      Math.min(hundredfold, 0.85),
      `it is ${formatPercent(share)} of the price, as others are, and on these days the price falls by a hundred times as much`,
    );
  const neighbours = listNeighbours(payment, payments);
  if (neighbours.length === 0 || equalsNeighbour(payment, payments)) return undefined;
  const usualValue = findUpperMedian(neighbours.map((otherPayment) => otherPayment.action.value));
  const usualShare = findUpperMedian(neighbours.map((otherPayment) => otherPayment.yield));
  const isTimes = (value: number, times: number) => isNear(value / action.value, times, HUNDREDTH_TOLERANCE);
  const factor = MISTAKEN_FACTORS.find(
    (times) => isTimes(usualValue, times) && isWithin(usualShare / share / times, SIMILAR_FACTOR),
  );
  if (factor === undefined) return undefined;
  const isException = listAdjacent(payment, payments).every(
    (adjacent) => adjacent !== undefined && isTimes(adjacent.action.value, factor),
  );
  const logOdds = computeLogOdds(payment, factor);
  if (factor === 10 ? !isException || logOdds <= 0 : share >= YIELD_MIN || logOdds < -LOG_ODDS_CLEAR) return undefined;
  return createSizeWarning(
    payment,
    scaleAmount(action.value, factor),
    0.85,
    `it is ${formatPercent(share)} of the price; others near it are ${usualValue}`,
  );
}

/**
 * Probability that all dividends of a security are a hundredth of their true size, as its price implies. The assumed
 * probability before any evidence is one in ten for securities with such small dividends.
 */
function computeHundredfoldProbability(payments: readonly Payment[]): number {
  const smallPayments = payments.filter((payment) => payment.yield < YIELD_MIN);
  if (2 * smallPayments.length <= payments.length || smallPayments.length < 2) return 0;
  const sum = smallPayments.reduce((total, payment) => total + computeLogOdds(payment, 100), 0);
  return 1 / (1 + 9 * Math.exp(-sum));
}

/** Returns the log odds that the true dividend is `times` the stated one. The evidence is the price move of its day. */
const computeLogOdds = ({ yield: share, move, sigma }: Payment, times: number) =>
  computeLogStudent((move + times * share) / sigma) - computeLogStudent((move + share) / sigma);

/** Returns the neighbouring dividends of the same type, at most four on each side. */
function listNeighbours(payment: Payment, payments: readonly Payment[]): Payment[] {
  const similarPayments = payments.filter((otherPayment) => otherPayment.action.type === payment.action.type);
  const position = similarPayments.indexOf(payment);
  return similarPayments
    .slice(Math.max(0, position - NEIGHBOUR_COUNT), position + NEIGHBOUR_COUNT + 1)
    .filter((otherPayment) => otherPayment !== payment);
}

/** Returns the previous and the next dividend of the same type; undefined if there is none. */
function listAdjacent(payment: Payment, payments: readonly Payment[]): (Payment | undefined)[] {
  const similarPayments = payments.filter((otherPayment) => otherPayment.action.type === payment.action.type);
  const position = similarPayments.indexOf(payment);
  return [similarPayments[position - 1], similarPayments[position + 1]];
}

/** Returns true if the previous or the next dividend has the same amount and the same fraction of the price. */
const equalsNeighbour = (payment: Payment, payments: readonly Payment[]): boolean =>
  listAdjacent(payment, payments).some(
    (otherPayment) =>
      otherPayment !== undefined &&
      isNear(otherPayment.action.value / payment.action.value, 1, DUPLICATE_TOLERANCE) &&
      isWithin(payment.yield / otherPayment.yield, SIMILAR_FACTOR),
  );

function* findDuplicates(payments: readonly Payment[], doubted: ReadonlySet<Payment>): Generator<DataWarning> {
  const gaps = payments.map(({ action }, i) => (i === 0 ? 0 : action.exDay - payments[i - 1]!.action.exDay));
  for (let i = 1; i < payments.length; i++) {
    const [first, second] = [payments[i - 1]!, payments[i]!];
    if (gaps[i]! > DUPLICATE_DAYS || doubted.has(first) || doubted.has(second)) continue;
    if (!isNear(second.action.value / first.action.value, 1, DUPLICATE_TOLERANCE)) continue;
    // Securities that pay every week have short gaps too. If the price fell on both dates, both dividends were paid.
    const otherGaps = gaps.filter((_, j) => j > 0 && j !== i);
    const isUsual = otherGaps.length > 1 && gaps[i]! > 0 && 2 * gaps[i]! > findUpperMedian(otherGaps);
    if (isUsual || [first, second].every((payment) => computeLogOdds(payment, 0) < -LOG_ODDS_CLEAR)) continue;
    // Keeps the dividend on whose date the price fell by the expected amount.
    const missedReturns = [first, second].map(({ move, yield: share }) => Math.abs(move + share));
    const wrongPayment = missedReturns[0]! >= missedReturns[1]! ? first : second;
    const otherPayment = wrongPayment === first ? second : first;
    yield {
      ...createWarningFields(wrongPayment, 'dividend_duplicate'),
      confidence: 0.8,
      message: `A dividend of ${otherPayment.action.value} has its ex-date on ${formatDay(otherPayment.action.exDay)}, ${Math.abs(second.action.exDay - first.action.exDay)} days apart; the price fell by ${formatPercent(-otherPayment.move)} then and by ${formatPercent(-wrongPayment.move)} on this day.`,
      evidence: {
        amount: wrongPayment.action.value,
        move: wrongPayment.move,
        other_amount: otherPayment.action.value,
        other_date: formatDay(otherPayment.action.exDay),
        other_move: otherPayment.move,
      },
      repair: { kind: 'remove_action', action: createActionRow(wrongPayment.action) },
    };
  }
}

/** Finds dividends that a column of adjusted prices does not reflect. */
function* findUnadjusted(
  { identifier, position, rows, days, close }: SecurityHistory,
  { fields, identifiers }: MarketContent,
  payments: readonly Payment[],
  doubted: ReadonlySet<Payment>,
): Generator<DataWarning> {
  const column = ADJUSTED_COLUMNS.find((name) => fields.has(name));
  if (column === undefined) return;
  const panel = fields.get(column)!;
  const readAdjusted = (bar: number) => panel[rows[bar]! * identifiers.length + position]!;
  const computeFactor = (bar: number) => readAdjusted(bar) / close[bar]!;
  for (const payment of payments) {
    const { bar, yield: share } = payment;
    const step = computeFactor(bar) / computeFactor(bar - 1);
    const expectedFactor = 1 / (1 - share);
    if (share < YIELD_ADJUSTED_MIN || !Number.isFinite(step) || share >= 1) continue;
    const unit = computePriceUnit(
      Array.from({ length: Math.min(bar, ROUNDING_BARS) + 1 }, (_, i) => readAdjusted(bar - i)),
    );
    const rounding = unit / 2 / readAdjusted(bar) + unit / 2 / readAdjusted(bar - 1);
    if (Math.abs(step - expectedFactor) < 0.5 * share + rounding) continue;
    // The dividend may be wrong instead: its amount has to fit the price better than the amount in the adjusted prices.
    const isRepaired = !doubted.has(payment) && computeLogOdds(payment, (1 - 1 / step) / share) <= 0;
    yield {
      ...createWarningFields(payment, 'dividend_not_adjusted'),
      confidence: 0.9,
      message: `${column} steps by ${roundShare(step)} over this day; a dividend of ${formatPercent(share)} is a step of ${roundShare(expectedFactor)}.`,
      evidence: { amount: payment.action.value, step, due: expectedFactor },
      repair: isRepaired
        ? {
            kind: 'scale',
            identifier,
            from: formatDay(days[0]!),
            to: formatDay(days[bar - 1]!),
            columns: [column],
            factor: step / expectedFactor,
          }
        : null,
    };
  }
}

/**
 * @param proposed amount of the repair, null to remove the dividend. It must fit the price move; otherwise there is no
 *   repair.
 * @param about sentences about the repair
 */
function createSizeWarning(
  payment: Payment,
  proposed: number | null,
  confidence: number,
  why: string,
  about = '',
): DataWarning {
  const { action, yield: share, move, sigma } = payment;
  const isFit = Math.abs(move + (share * (proposed ?? 0)) / action.value) <= SIGMAS_MISSED * sigma;
  const repair: Repair | null = !isFit
    ? null
    : proposed === null
      ? { kind: 'remove_action', action: createActionRow(action) }
      : { kind: 'replace_action', action: createActionRow(action), value: proposed };
  return {
    ...createWarningFields(payment, 'dividend_size'),
    confidence,
    message: `The dividend of ${payment.action.value} is not of the right size: ${why}.${repair === null ? '' : about}`,
    evidence: { amount: payment.action.value, yield: payment.yield, move: payment.move, usual_move: payment.sigma },
    repair,
  };
}

function createWarningFields(
  { action }: Payment,
  kind: DataWarning['kind'],
): Pick<DataWarning, 'id' | 'kind' | 'identifier' | 'date'> {
  const date = formatDay(action.exDay);
  return { id: `${kind} ${action.identifier} ${date} ${action.value}`, kind, identifier: action.identifier, date };
}

export function createActionRow({ identifier, type, value, exDay }: CorporateAction): ActionRow {
  return { identifier, type, value, ex_date: formatDay(exDay) };
}

const isWithin = (ratio: number, factor: number) => Math.abs(Math.log(ratio)) <= Math.log(factor);
const isNear = (value: number, to: number, tolerance: number) => Math.abs(value / to - 1) < tolerance;
const formatPercent = (share: number) => `${Math.round(share * 1e4) / 100}%`;
const roundShare = (value: number) => Math.round(value * 1e4) / 1e4;
