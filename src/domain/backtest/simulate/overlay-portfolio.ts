import { refuseWithFindings } from '../../refusal.js';
import type { BacktestPlan } from '../plan.js';
import type { Book, BookEvent } from './book.js';

interface Span {
  readonly plan: Pick<BacktestPlan, 'request' | 'strategy' | 'indexId'>;
  /** First and last session. */
  readonly from: number;
  readonly to: number;
}

/**
 * A portfolio that holds an overlay: its levels from a session on, in money.
 * @throws Refusal VALIDATION_FAILED of a strategy, and with costs: what an overlay trades every session is not paid for
 */
export function overlayPortfolio(book: Book, { plan, from, to }: Span): Book {
  assertHeldPlainly(plan);
  const { initial_capital: capital } = plan.request;
  const [shift, length, width] = [from - book.from, to - from + 1, book.columns.length];
  const rows = <A extends Float64Array | Int32Array | Uint8Array>(of: A): A => of.subarray(shift, shift + length) as A; // The same kind of array.
  const value = rows(book.value).map((level) => (capital * level) / book.value[shift]!);
  const weights = book.weights.subarray(shift * width, (shift + length) * width);
  const gross = rows(book.gross).slice().fill(1, 0, 1);
  return {
    ...book,
    from,
    length,
    value,
    weights,
    gross,
    path: gross,
    begins: rows(book.begins),
    divisor: rows(book.divisor),
    costs: rows(book.costs),
    cash: rows(book.cash).slice(),
    counts: rows(book.counts),
    events: eventsFrom(book, shift, value),
    unfilled: book.unfilled.flatMap((order) => {
      const at = order.at - shift;
      const later = (position: number | null): number | null => (position === null ? null : position - shift);
      const notional = (order.notional * capital) / book.value[shift]!;
      return at < 0
        ? []
        : [{ ...order, at, notional, filledAt: later(order.filledAt), replacedAt: later(order.replacedAt) }];
    }),
    gaps: book.gaps.filter(({ session }) => session >= from),
    silent: book.silent.filter(({ session }) => session >= from),
    end: { stretchValue: value.at(-1)!, value: value.at(-1)! },
    overlay: {
      ...book.overlay!,
      drift: rows(book.overlay!.drift).slice().fill(1, 0, 1), // Of an overlay.
      parts: book.overlay!.parts.map((part) => ({
        ...part,
        contributions: rows(part.contributions).slice().fill(0, 0, 1),
      })),
    },
  };
}

/** Events from a session on, in money; on the first everything is bought. */
function eventsFrom({ columns, events, value: levels }: Book, shift: number, value: Float64Array): BookEvent[] {
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

/** The portfolio over sessions that came later, of the book of those. @param levelAtStart of the overlay, on its first date */
export function resumedOverlayPortfolio(
  book: Book,
  { capital, levelAtStart }: { readonly capital: number; readonly levelAtStart: number },
): Book {
  const value = book.value.map((level) => (capital * level) / levelAtStart);
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
    end: { stretchValue: value.at(-1)!, value: value.at(-1)! },
  };
}

function assertHeldPlainly({ request, strategy, indexId }: Span['plan']): void {
  const { transaction_cost_bps: cost } = request;
  if (strategy === undefined && cost === 0) return;
  const message =
    strategy === undefined
      ? `The overlay ${indexId} is held as it is; transaction_cost_bps is ${cost}, and 0 is needed.`
      : `The overlay ${indexId} is held as it is; a strategy follows the index beneath it.`;
  const path = strategy === undefined ? 'transaction_cost_bps' : 'index_id';
  throw refuseWithFindings('request', [{ severity: 'error', code: 'NOT_IN_CHOICES', path, message }]);
}
