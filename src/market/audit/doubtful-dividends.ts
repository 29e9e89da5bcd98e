import { formatDay } from '#domain/days.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import type { MarketContent } from '../content/market-content.js';
import type { ActionRow, Doubt, Repair } from './doubt.js';
import type { NameHistory } from './name-history.js';

/** Columns in which vendors give a price adjusted for dividends. */
const ADJUSTED = ['ADJ_CLOSE', 'Adj Close', 'ADJUSTED_CLOSE'];

/** Dividends nearer than this to each other are one that is reported twice, when they are about as large. */
const DUPLICATE_DAYS = 7;
const DUPLICATE_TOLERANCE = 0.15;
/** Dividends of less than this of the price, all of a name's, are in another unit. */
const YIELD_MIN = 1e-3;
/** How near to a hundredth of the usual one a small dividend is that is in another unit. */
const HUNDREDTH_TOLERANCE = 0.12;
/** A dividend of more than this of the price shows in the price. */
const YIELD_SHOWN = 0.03;
/** Usual moves by which the price may miss a dividend that is real; fewer where it is a tenth of the price and more. */
const SIGMAS_MISSED = 4;
const SIGMAS_MISSED_LARGE = 2.5;
const YIELD_LARGE = 0.1;
/** Least dividend that is looked for in adjusted prices: those of smaller ones drown in their rounding. */
const YIELD_ADJUSTED_MIN = 5e-4;
const RATIO_TYPES: ReadonlySet<string> = new Set(['SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE']);

interface Payment {
  readonly action: CorporateAction;
  readonly bar: number;
  /** Amount over the close before it. */
  readonly yield: number;
  /** Return of its session. */
  readonly move: number;
  readonly sigma: number;
}

/** Dividends whose size the price denies, that are reported twice, or that the vendor's own adjusted price left out. */
export function* doubtfulDividends(history: NameHistory, content: MarketContent): Generator<Doubt> {
  const payments = paymentsOf(history);
  const doubted = new Set<Payment>();
  for (const doubt of [...sizes(history, payments, doubted), ...duplicates(payments, doubted)]) yield doubt;
  yield* unadjusted(history, content, payments);
}

function paymentsOf({ close, returns, sigma, actions }: NameHistory): Payment[] {
  return (
    actions
      .filter(
        ({ action, bar }) =>
          (action.type === 'DIVIDEND' || action.type === 'SPECIAL_DIVIDEND') &&
          action.value > 0 &&
          bar > 0 &&
          bar < close.length,
      )
      // The price before is put on the share basis of the day, as the amount is.
      .map(({ action, bar }) => ({
        action,
        bar,
        yield: (action.value * (1 + returns[bar]!)) / close[bar]!,
        move: returns[bar]!,
        sigma: sigma[bar]!,
      }))
  );
}

function* sizes(history: NameHistory, payments: readonly Payment[], doubted: Set<Payment>): Generator<Doubt> {
  for (const payment of payments) {
    const { action, yield: share, move, sigma } = payment;
    const peers = payments
      .filter((other) => other !== payment && other.action.type === action.type)
      .map((other) => other.action.value);
    const usual = peers.length === 0 ? undefined : median(peers);
    const usualShare = median(payments.map((other) => other.yield));
    const split = history.actions.find(
      (other) =>
        RATIO_TYPES.has(other.action.type) &&
        Math.abs(other.action.exDay - action.exDay) <= 5 &&
        Math.abs(other.action.value - 1) > 0.2,
    );
    const isDenied =
      share > YIELD_SHOWN &&
      move + share > (share > YIELD_LARGE ? SIGMAS_MISSED_LARGE : SIGMAS_MISSED) * sigma &&
      move > -share / 2;
    if (
      split !== undefined &&
      usual !== undefined &&
      isNear(share / split.action.value, usualShare, 0.35) &&
      !isNear(share, usualShare, 0.6)
    ) {
      doubted.add(payment);
      yield size(
        payment,
        action.value / split.action.value,
        0.85,
        `it is ${round(share / usualShare)} times as much of the price as others, and the shares were split ${split.action.value} for 1 at the same time`,
      );
    } else if (isDenied) {
      doubted.add(payment);
      const proposed = action.value / 100;
      yield size(
        payment,
        share / 100 >= 1e-4 && share / 100 < 0.05 ? proposed : null,
        share > 0.1 ? 0.95 : 0.7,
        `the price should have fallen by ${percent(share)} and moved by ${percent(move)}`,
      );
    } else if (
      share < YIELD_MIN &&
      usual !== undefined &&
      (usualShare < YIELD_MIN || isNear(usual / action.value, 100, HUNDREDTH_TOLERANCE))
    ) {
      doubted.add(payment);
      yield size(payment, action.value * 100, 0.85, `it is ${percent(share)} of the price; others are ${usual}`);
    }
  }
}

function* duplicates(payments: readonly Payment[], doubted: ReadonlySet<Payment>): Generator<Doubt> {
  for (let i = 1; i < payments.length; i++) {
    const [first, second] = [payments[i - 1]!, payments[i]!];
    if (second.action.exDay - first.action.exDay > DUPLICATE_DAYS || doubted.has(first) || doubted.has(second))
      continue;
    if (!isNear(second.action.value / first.action.value, 1, DUPLICATE_TOLERANCE)) continue;
    // The one on whose day the price fell as it should is kept.
    const misses = [first, second].map(({ move, yield: share }) => Math.abs(move + share));
    const wrong = misses[0]! >= misses[1]! ? first : second;
    const other = wrong === first ? second : first;
    yield {
      ...about(wrong, 'dividend_duplicate'),
      confidence: 0.8,
      message: `A dividend of ${other.action.value} trades ex on ${formatDay(other.action.exDay)}, ${Math.abs(second.action.exDay - first.action.exDay)} days away; the price fell by ${percent(-other.move)} then and by ${percent(-wrong.move)} on this day.`,
      evidence: {
        amount: wrong.action.value,
        move: wrong.move,
        other_amount: other.action.value,
        other_date: formatDay(other.action.exDay),
        other_move: other.move,
      },
      repair: { kind: 'remove_action', action: rowOf(wrong.action) },
    };
  }
}

/** Dividends that a column of adjusted prices does not reflect. */
function* unadjusted(
  { identifier, position, rows, days, close }: NameHistory,
  { fields, identifiers }: MarketContent,
  payments: readonly Payment[],
): Generator<Doubt> {
  const column = ADJUSTED.find((name) => fields.has(name));
  if (column === undefined) return;
  const panel = fields.get(column)!;
  const factor = (bar: number) => panel[rows[bar]! * identifiers.length + position]! / close[bar]!;
  for (const payment of payments) {
    const { bar, yield: share } = payment;
    const step = factor(bar) / factor(bar - 1);
    const due = 1 / (1 - share);
    if (share < YIELD_ADJUSTED_MIN || !Number.isFinite(step) || share >= 1 || Math.abs(step - due) < 0.5 * share)
      continue;
    yield {
      ...about(payment, 'dividend_not_adjusted'),
      confidence: 0.9,
      message: `${column} steps by ${round(step)} over this day; a dividend of ${percent(share)} is a step of ${round(due)}.`,
      evidence: { amount: payment.action.value, step, due },
      repair: {
        kind: 'scale',
        identifier,
        from: formatDay(days[0]!),
        to: formatDay(days[bar - 1]!),
        columns: [column],
        factor: step / due,
      },
    };
  }
}

function size(payment: Payment, proposed: number | null, confidence: number, why: string): Doubt {
  const repair: Repair =
    proposed === null
      ? { kind: 'remove_action', action: rowOf(payment.action) }
      : { kind: 'replace_action', action: rowOf(payment.action), value: proposed };
  return {
    ...about(payment, 'dividend_size'),
    confidence,
    message: `The dividend of ${payment.action.value} is not of the right size: ${why}.`,
    evidence: { amount: payment.action.value, yield: payment.yield, move: payment.move, usual_move: payment.sigma },
    repair,
  };
}

function about({ action }: Payment, kind: Doubt['kind']): Pick<Doubt, 'id' | 'kind' | 'identifier' | 'date'> {
  const date = formatDay(action.exDay);
  return { id: `${kind} ${action.identifier} ${date} ${action.value}`, kind, identifier: action.identifier, date };
}

export function rowOf({ identifier, type, value, exDay }: CorporateAction): ActionRow {
  return { identifier, type, value, ex_date: formatDay(exDay) };
}

function median(values: readonly number[]): number {
  const ordered = values.toSorted((x, y) => x - y);
  return ordered[ordered.length >> 1]!;
}

const isNear = (value: number, to: number, tolerance: number) => Math.abs(value / to - 1) < tolerance;
const percent = (share: number) => `${Math.round(share * 1e4) / 100} %`;
const round = (value: number) => Math.round(value * 1e4) / 1e4;
