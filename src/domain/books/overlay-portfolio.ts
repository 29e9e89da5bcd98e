import { refuseWithFindings } from '../refusals/refusal.js';
import { checkSingleHolding } from '../overlays/single-holding.js';
import type { OverlayPath } from '../overlays/overlay-type.js';
import type { BacktestPlan } from '../documents/backtest-plan.js';
import { moveOrder, type Book, type BookEvent, type StoredFollower } from './book.js';
import { createTransfers } from './transfers.js';
import { createPathBook } from './overlay-book.js';
import type { EarlierOrders } from './overlay-orders.js';

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

/** Computes the portfolio on new sessions from the overlay's book on those sessions. */
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
