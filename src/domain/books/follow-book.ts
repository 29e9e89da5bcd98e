import type { Book, BookEvent, BookInput, FollowerEnd } from './book.js';
import { createTransfers } from './transfers.js';
import { sumExitsBySide } from './book-close.js';
import { findFrozenSlots } from './book-orders.js';
import { assertAffordable } from './book-limits.js';
import { moveWeights } from './trades.js';
import { tradeToTargets } from './trade-to-targets.js';

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
    everHeld: shift === 0 ? like.everHeld : markHoldings({ weights, events }, width),
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

/** Returns one number per slot: 1 if it has a weight at some close or before an event, otherwise 0, [H]. */
function markHoldings({ weights, events }: Pick<Book, 'weights' | 'events'>, width: number): Uint8Array {
  const isHeld = new Uint8Array(width);
  for (const rows of [weights, ...events.map(({ before }) => before)]) {
    for (let i = 0; i < rows.length; i++) if (rows[i] !== 0) isHeld[i % width] = 1;
  }
  return isHeld;
}
