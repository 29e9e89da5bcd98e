import { refuseWithFindings } from '../base/refusals.js';
import type { BacktestPlan } from '../definition/backtest-plan.js';
import { checkSingleHolding, type OverlayPath } from '../definition/overlay-type.js';
import {
  type Book,
  type BookEvent,
  type BookInput,
  createTransfers,
  type FollowerEnd,
  markEverHeld,
  moveOrder,
  type StoredFollower,
} from './book.js';
import { createPathBook, type EarlierOrders } from './overlay-book.js';

import { moveWeights } from './trades.js';
import { assertAffordable, findFrozenSlots, sumExitsBySide, tradeToTargets } from './trading.js';

/**
 * Derives the book of a portfolio that has the weights of the cost-free book `like` and pays costs. No weight is
 * recomputed. The result is bit-identical to a simulation if `like` began a holding period at the portfolio's first
 * session. Returns undefined if the holdings could differ; the caller must then simulate. This is the case if a target
 * has no price or is within the tolerance, if `like` waited for a price, if a security leaves a book with cash or short
 * positions, or if a payment is due while a spun-off security waits for its price.
 * @param like book without costs that trades to every target.
 * @param resume state of the portfolio at the first session, to resume from.
 * @cost O(T + E H)
 */
export function followBook(input: BookInput, like: Book, resume?: FollowerEnd): Book | undefined {
  const { sm, from, to, initialValue, costRate } = input;
  if (like.unfilled.length > 0) return undefined;
  const length = to - from + 1;
  const shift = from - like.from;
  const width = like.columns.length;
  const weights = like.weights.subarray(shift * width, (shift + length) * width);
  const value = new Float64Array(length);
  const costs = new Float64Array(length);
  const events: BookEvent[] = [];
  const terms = { input, like, costRate, held: new Float64Array(width), all: new Int32Array(width) };
  let next = like.events.findIndex(({ at }) => at > shift);
  let periodValue = resume?.stretchValue ?? initialValue;
  if (resume) value[0] = resume.value;
  for (let t = resume ? 1 : 0; t < length; t++) {
    const driftedValue = t === 0 ? initialValue : periodValue * like.path[t + shift]!;
    value[t] = driftedValue;
    const event =
      t === 0
        ? createOpeningEvent(width, initialValue)
        : like.events[next]?.at === t + shift
          ? { ...like.events[next++]!, at: t, valueBefore: driftedValue }
          : undefined;
    if (event) {
      const retainedShare = payForEvent({ ...terms, event, after: weights.subarray(t * width, (t + 1) * width) });
      if (retainedShare === undefined) return undefined;
      if (retainedShare !== 1 && event.hasPendingSpinOff) return undefined;
      value[t] = driftedValue * retainedShare;
      costs[t] = driftedValue - value[t]!;
      events.push(event);
    }
    if (t === 0 || like.begins[t + shift] === 1) periodValue = value[t]!;
  }
  return {
    sm,
    from,
    length,
    value,
    costs,
    events,
    weights,
    columns: like.columns,
    everHeld: shift === 0 ? like.everHeld : markEverHeld({ weights, events }, width),
    gross: startWithValueOne(like.gross.slice(shift, shift + length)),
    path: startWithValueOne(like.path.slice(shift, shift + length)),
    begins: like.begins.subarray(shift, shift + length),
    ...selectGrowth(like, { shift, length }),
    divisor: like.divisor.subarray(shift, shift + length),
    cash: like.cash.slice(shift, shift + length),
    counts: like.counts.subarray(shift, shift + length),
    unfilled: [],
    pending: null,
    end: { stretchValue: periodValue, value: value.at(-1)! },
    gaps: like.gaps.filter(({ session }) => session >= from),
    silent: like.silent.filter(({ session }) => session >= from),
  };
}

/** Returns the price growth and the transfers of a followed book, which its weights do not show. */
function selectGrowth(
  { drift, transfers }: Book,
  { shift, length }: { readonly shift: number; readonly length: number },
): Pick<Book, 'drift' | 'transfers'> {
  return {
    ...(drift ? { drift: startWithValueOne(drift.slice(shift, shift + length)) } : {}),
    ...(transfers ? { transfers: createTransfers(transfers, shift) } : {}),
  };
}

/** Returns the event of the first purchase. */
function createOpeningEvent(width: number, valueBefore: number): BookEvent {
  return {
    at: 0,
    rebalanced: true,
    valueBefore,
    before: new Float64Array(width),
    conversions: [],
    exits: [],
    fills: [],
  };
}

function startWithValueOne(series: Float64Array): Float64Array {
  series[0] = 1;
  return series;
}

interface Payment {
  readonly input: BookInput;
  readonly like: Book;
  readonly event: BookEvent;
  /** Weights after the event, [H]. */
  readonly after: Float64Array;
  readonly costRate: number;
  /** Scratch memory for holdings and trades, [H] each. */
  readonly held: Float64Array;
  readonly all: Int32Array;
}

/**
 * Returns the fraction of the value that remains after the costs of an event. Returns undefined if a trade is
 * impossible, or differs from the trade without costs.
 */
function payForEvent(payment: Payment): number | undefined {
  const { input, like, event, after, costRate, held, all } = payment;
  const { before, rebalanced } = event;
  if (!rebalanced) return payForExits(like, payment);
  held.set(before);
  moveWeights(held, event);
  let count = 0;
  for (let slot = 0; slot < held.length; slot++) if (after[slot] !== 0 || held[slot] !== 0) all[count++] = slot;
  const slots = all.subarray(0, count);
  const { frozen } = findFrozenSlots({
    input,
    columns: like.columns,
    session: input.from + event.at,
    slots,
    before: held,
    targetWeights: after,
  });
  if (frozen.size > 0) return undefined;
  const { retained } = tradeToTargets({ before: held, targets: after, slots, frozen, costRate });
  assertAffordable(input, input.from + event.at, retained);
  return retained;
}

/**
 * Returns the fraction of the value that remains after the costs of exits. In a book with cash or short positions these
 * costs change the remaining weights, so the book must be simulated.
 */
function payForExits({ cash, from }: Book, { input, event, after, costRate }: Payment): number | undefined {
  const { long, short } = sumExitsBySide(event.exits);
  const isSpread = after.some((weight) => weight !== 0);
  if (costRate === 0 || !isSpread || (long === 0 && short === 0)) return 1;
  const isPlain = short === 0 && cash[input.from - from + event.at] === 0 && after.every((weight) => weight >= 0);
  return isPlain ? 1 - (long - long / (1 + costRate)) : undefined;
}

interface Span {
  readonly plan: Pick<BacktestPlan, 'request' | 'strategy' | 'runId'>;
  /** First and last session of the portfolio. */
  readonly from: number;
  readonly to: number;
  /** Rebalance sessions of a strategy. */
  readonly rebalances: readonly number[];
}

/**
 * Computes a portfolio that holds an overlay, in money. The portfolio is fully invested, or holds the invested fraction
 * of a strategy.
 */
export function createOverlayPortfolio(book: Book, span: Span): Book {
  const { plan, from, to, rebalances } = span;
  if (plan.strategy === undefined) return createWholeBook(book, span);
  return createStrategyBook(book, { plan, from, to, rebalances, level: plan.request.initial_capital });
}

interface StrategySpan extends Span {
  /** Portfolio value on the first session. */
  readonly level: number;
  /** State of a resumed strategy; absent for a new one. */
  readonly resumed?: EarlierOrders & { readonly exposure: number };
}

function createStrategyBook(book: Book, span: StrategySpan): Book {
  const { plan, from, level, resumed } = span;
  const path = computeStrategyPath(book, span);
  const pathBook = createPathBook({
    path,
    beneath: [book],
    shares: {},
    valued: book.overlay?.securitiesIn,
    sm: book.sm,
    from,
    level,
    isBrief: false,
    indexId: plan.runId,
    ...(resumed ? { resumed: { ...resumed, hasCurrencyPart: false } } : {}),
  });
  const value = pathBook.value.at(-1)!;
  return { ...pathBook, end: { stretchValue: value, value, exposure: path.exposures[0]!.at(-1)! } };
}

/**
 * Computes the path of the fraction invested in an overlay. A rebalance restores the target fraction if the difference
 * to it exceeds the tolerance.
 */
function computeStrategyPath(
  book: Book,
  { plan: { strategy }, from, to, rebalances, resumed }: StrategySpan,
): OverlayPath {
  const { exposure: target, drift_tolerance: tolerance } = strategy!; // only strategies reach this function
  const due = new Set(rebalances);
  const length = to - from + 1;
  const growth = new Float64Array(length).fill(1);
  const exposures = new Float64Array(length).fill(target);
  exposures[0] = resumed?.exposure ?? target;
  const resets = new Uint8Array(length);
  for (let t = 1; t < length; t++) {
    const bookGrowth = book.gross[from - book.from + t]!;
    growth[t] = 1 + exposures[t - 1]! * (bookGrowth - 1);
    const driftedExposure = (exposures[t - 1]! * bookGrowth) / growth[t]!;
    const isTraded = due.has(from + t) && Math.abs(driftedExposure - target) > (tolerance ?? 0);
    resets[t] = isTraded ? 1 : 0;
    exposures[t] = isTraded ? target : driftedExposure;
  }
  return { growth, exposures: [exposures], exchange: null, parts: [], resets };
}

/** Returns the overlay's book from a session on, scaled to the portfolio's money. */
function createWholeBook(book: Book, { plan, from, to }: Span): Book {
  const { initial_capital: capital } = plan.request;
  const [shift, length, width] = [from - book.from, to - from + 1, book.columns.length];
  const sliceRows = <A extends Float64Array | Int32Array | Uint8Array>(rows: A): A =>
    rows.subarray(shift, shift + length) as A; // the result has the array type of the argument
  const value = sliceRows(book.value).map((level) => (capital * level) / book.value[shift]!);
  const weights = book.weights.subarray(shift * width, (shift + length) * width);
  const gross = sliceRows(book.gross).slice().fill(1, 0, 1);
  return {
    ...book,
    from,
    length,
    value,
    weights,
    gross,
    path: gross,
    begins: sliceRows(book.begins),
    divisor: sliceRows(book.divisor),
    costs: sliceRows(book.costs),
    cash: sliceRows(book.cash).slice(),
    counts: sliceRows(book.counts),
    events: listEventsFrom(book, shift, value),
    ...(book.transfers ? { transfers: createTransfers(book.transfers, shift) } : {}),
    unfilled: book.unfilled.flatMap((order) => {
      const position = order.at - shift;
      const shiftPosition = (position: number | null): number | null => (position === null ? null : position - shift);
      const notional = (order.notional * capital) / book.value[shift]!;
      return position < 0
        ? []
        : [
            {
              ...order,
              at: position,
              notional,
              filledAt: shiftPosition(order.filledAt),
              replacedAt: shiftPosition(order.replacedAt),
            },
          ];
    }),
    gaps: book.gaps.filter(({ session }) => session >= from),
    silent: book.silent.filter(({ session }) => session >= from),
    end: { stretchValue: value.at(-1)!, value: value.at(-1)! },
    overlay: {
      ...book.overlay!,
      drift: sliceRows(book.overlay!.drift).slice().fill(1, 0, 1), // only overlays reach this function
      parts: book.overlay!.parts.map((part) => ({
        ...part,
        contributions: sliceRows(part.contributions).slice().fill(0, 0, 1),
      })),
    },
  };
}

/** Returns the events from a session on, in money. The first event is the initial purchase. */
function listEventsFrom({ columns, events, value: levels }: Book, shift: number, value: Float64Array): BookEvent[] {
  const scale = value[0]! / levels[shift]!;
  const first: BookEvent = {
    at: 0,
    rebalanced: true,
    valueBefore: value[0]!,
    before: new Float64Array(columns.length),
    conversions: [],
    exits: [],
    fills: [],
  };
  const later = events
    .filter(({ at }) => at > shift)
    .map((event) => ({
      ...event,
      at: event.at - shift,
      valueBefore: value[event.at - shift]!,
      fills: event.fills.map((fill) => ({ ...fill, notional: fill.notional * scale })),
    }));
  return [first, ...later.filter(({ at }) => at < value.length)];
}

interface ResumedSpan {
  readonly plan: BacktestPlan;
  /** Rebalance sessions of a strategy. */
  readonly rebalances: readonly number[];
  readonly stored: StoredFollower;
  /** First session of the portfolio, and level of the overlay on that session. */
  readonly first: number;
  readonly levelAtStart: number;
}

export function resumeOverlayPortfolio(book: Book, span: ResumedSpan): Book {
  const { plan, rebalances, stored, first, levelAtStart } = span;
  const { from, length } = book;
  const sessionsHeld = from - first;
  const { value: level, exposure, orders = [] } = stored;
  if (exposure !== undefined) {
    const resumedOverlay = {
      exposure,
      heldFor: sessionsHeld,
      orders: orders.map((order) => moveOrder(order, -sessionsHeld)),
    };
    return createStrategyBook(book, { plan, from, to: from + length - 1, rebalances, level, resumed: resumedOverlay });
  }
  const { initial_capital: capital } = plan.request;
  const value = book.value.map((own) => (capital * own) / levelAtStart);
  const scale = (capital * levelAtStart) / levelAtStart / levelAtStart;
  const gross = book.gross.slice().fill(1, 0, 1);
  return {
    ...book,
    value,
    gross,
    path: gross,
    events: book.events.map((event) => ({
      ...event,
      valueBefore: value[event.at]!,
      fills: event.fills.map((fill) => ({ ...fill, notional: fill.notional * scale })),
    })),
    unfilled: book.unfilled
      .filter(({ at }) => at >= -sessionsHeld)
      .map((order) => ({ ...order, notional: (order.notional * capital) / levelAtStart })),
    end: { stretchValue: value.at(-1)!, value: value.at(-1)! },
  };
}

/**
 * Checks that a portfolio holds an overlay as a single position, without costs and without optimisation.
 * @throws Refusal VALIDATION_FAILED
 */
export function assertSingleHolding({ request, strategy, indexId }: BacktestPlan): void {
  const { transaction_cost_bps: transactionCostBps } = request;
  const hasConstraints = strategy?.constraints !== undefined;
  const findings = checkSingleHolding({ indexId, transactionCostBps, hasConstraints });
  if (findings.length > 0) throw refuseWithFindings('request', findings);
}
