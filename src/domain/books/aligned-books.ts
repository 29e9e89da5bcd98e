import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import type { SessionMarket } from '../market/session-market.js';
import {
  type Book,
  type BookEvent,
  type BookOverlay,
  type Gap,
  listTransfers,
  NO_COUNT_CHANGES,
  readDrift,
  type Transfers,
  type UnfilledOrder,
} from './book.js';
import type { Composition } from './compositions.js';

/**
 * Maps a book to the sessions of another calendar. If the book's calendar lacks a session, the session gets the last
 * known level. If the other calendar lacks a session with an event, the event moves to the next session of that
 * calendar.
 * @param span sessions of the other calendar. Default: begins at the first session that the book covers.
 * @cost O(T H)
 */
export function alignBook(
  book: Book,
  sm: SessionMarket,
  { from: begin, to }: { readonly from?: number; readonly to: number },
): Book {
  const days = book.sm.sessions.subarray(book.from, book.from + book.length);
  const from = begin ?? findFirstAtLeast(sm.sessions, days[0]!);
  const length = to + 1 - from;
  const positions = Int32Array.from({ length }, (_, t) => findLastAtMost(days, sm.sessions[from + t]!));
  const width = book.columns.length;
  const isBrief = book.weights.length < book.length * width;
  const selectKnown = (values: Float64Array): Float64Array => Float64Array.from(positions, (p) => values[p]!);
  const gross = computeSpanProducts(book.gross, positions);
  const events = isBrief ? [] : mapEvents(book, positions, gross);
  const findMappedSession = (session: number): number => findFirstAtLeast(sm.sessions, book.sm.sessions[session]!);
  // The rounding of the divisor is among the transfers.
  const { drift: _, transfers: __, reinvested: ___, exactDivisor: ____, exitShares, ...bookFields } = book;
  const transfers = listTransfers(book);
  return {
    ...bookFields,
    ...(book.drift ? { drift: mapDrift(readDrift(book), { positions, gross }) } : {}),
    ...(transfers ? { transfers: mapTransfers(transfers, positions) } : {}),
    ...(exitShares ? { exitShares: mapExitShares(exitShares, positions) } : {}),
    onOwnSessions: book,
    sm,
    from,
    length,
    value: selectKnown(book.value),
    gross,
    path: gross,
    begins: new Uint8Array(length).fill(1),
    divisor: selectKnown(book.divisor),
    costs: new Float64Array(length),
    weights: isBrief ? book.weights : selectRows(book.weights, positions, width),
    cash: selectKnown(book.cash),
    counts: Int32Array.from(positions, (p) => book.counts[p]!),
    events,
    unfilled: book.unfilled
      .map((order) => mapOrder(order, (p) => findMappedSession(book.from + p) - from))
      .filter(({ at }) => at < length),
    gaps: mapGaps(book.gaps, findMappedSession, to),
    silent: mapGaps(book.silent, findMappedSession, to),
    pending: null,
    ...(book.overlay ? { overlay: mapOverlay(book, book.overlay, { positions, gross, events }) } : {}),
  };
}

/**
 * Maps a composition to the sessions of another calendar. The effective session becomes the first session on or after
 * the original one; the decision session becomes the last session on or before the original one.
 */
export function alignComposition(
  sessionMarket: SessionMarket,
  sm: SessionMarket,
): (composition: Composition) => Composition {
  return (composition) => ({
    ...composition,
    session: findFirstAtLeast(sm.sessions, sessionMarket.sessions[composition.session]!),
    decision: findLastAtMost(sm.sessions, sessionMarket.sessions[composition.decision]!),
  });
}

/**
 * Returns for each position the product of the factors after the previous position up to it, [T]. The first product is
 * 1.
 */
function computeSpanProducts(factors: Float64Array, positions: Int32Array): Float64Array {
  return Float64Array.from(positions, (p, t) => {
    let product = 1;
    for (let s = t === 0 ? p + 1 : positions[t - 1]! + 1; s <= p; s++) product *= factors[s]!;
    return product;
  });
}

function selectRows(rows: Float64Array, positions: Int32Array, width: number): Float64Array {
  const selectedRows = new Float64Array(positions.length * width);
  positions.forEach((p, t) => selectedRows.set(rows.subarray(p * width, (p + 1) * width), t * width));
  return selectedRows;
}

/**
 * Returns the events on the mapped sessions. The events of several sessions are merged into one event with all
 * contributions.
 */
function mapEvents(book: Book, positions: Int32Array, gross: Float64Array): BookEvent[] {
  const byPosition = new Map(book.events.map((event) => [event.at, event]));
  const hasOwnDrift = book.overlay !== undefined || book.drift !== undefined;
  const bookEvents: BookEvent[] = [];
  for (let t = 1; t < positions.length; t++) {
    const [begin, end] = [positions[t - 1]!, positions[t]!];
    const periodEvents = Array.from({ length: end - begin }, (_, k) => byPosition.get(begin + 1 + k));
    const eventsInPeriod = periodEvents.filter((event) => event !== undefined);
    if (end - begin === 1) bookEvents.push(...eventsInPeriod.map((event) => ({ ...event, at: t })));
    // A span with dividends, or between resets of an overlay, has several drift factors.
    else if (
      eventsInPeriod.length > 0 ||
      (end > begin && (hasOwnDrift || groupTransfersBySession(book, begin, end).size > 0))
    )
      bookEvents.push(
        mergeEvents(book, { happened: eventsInPeriod, periodEvents, at: t, begin, end, growth: gross[t]! }),
      );
  }
  return bookEvents;
}

interface EventSpan {
  readonly happened: readonly BookEvent[];
  /** Events of the book by position in the span; undefined for positions without an event. */
  readonly periodEvents: readonly (BookEvent | undefined)[];
  readonly at: number;
  readonly begin: number;
  readonly end: number;
  readonly growth: number;
}

function mergeEvents(book: Book, { happened, periodEvents, at, begin, end, growth }: EventSpan): BookEvent {
  const width = book.columns.length;
  const readRow = (p: number): Float64Array => book.weights.subarray(p * width, (p + 1) * width);
  const weightsWithIncome = readRow(begin).slice();
  const transfersBySession = groupTransfersBySession(book, begin, end);
  let growthSoFar = 1;
  periodEvents.forEach((event, k) => {
    const p = begin + 1 + k;
    const driftedWeights = event?.before ?? readRow(p);
    const factor = readDrift(book)[p]!;
    for (let i = 0; i < width; i++)
      weightsWithIncome[i]! += growthSoFar * (driftedWeights[i]! * factor - readRow(p - 1)[i]!);
    for (const { slot, earnings } of transfersBySession.get(p) ?? [])
      weightsWithIncome[slot]! += growthSoFar * earnings;
    growthSoFar *= book.gross[p]!;
  });
  const valueBefore = book.value[end]!;
  const computeScale = ({ valueBefore: eventValue }: BookEvent): number => eventValue / valueBefore;
  return {
    at,
    rebalanced: happened.some(({ rebalanced }) => rebalanced),
    valueBefore,
    before: weightsWithIncome.map((weight) => weight / growth),
    conversions: happened.flatMap((event) =>
      event.conversions.map((conversion) => ({ ...conversion, weight: conversion.weight * computeScale(event) })),
    ),
    exits: happened.flatMap((event) =>
      event.exits.map((weightMove) => ({ ...weightMove, change: weightMove.change * computeScale(event) })),
    ),
    fills: happened.flatMap(({ fills }) => fills),
    ...(happened.every(({ isUntraded }) => isUntraded === true) ? { isUntraded: true } : {}),
  };
}

interface MappedBook {
  readonly positions: Int32Array;
  readonly gross: Float64Array;
  readonly events: readonly BookEvent[];
}

interface Transfer {
  readonly slot: number;
  readonly earnings: number;
}

/** Returns the transfers after position `begin` up to position `end`, by session. */
function groupTransfersBySession(book: Book, begin: number, end: number): ReadonlyMap<number, readonly Transfer[]> {
  const transfers = listTransfers(book);
  const bySession = new Map<number, Transfer[]>();
  if (transfers === undefined) return bySession;
  const { at, slot, dividends, moved } = transfers;
  for (let i = findFirstAtLeast(at, begin + 1); i < at.length && at[i]! <= end; i++) {
    const transfer = { slot: slot[i]!, earnings: dividends[i]! + moved[i]! };
    const sessionTransfers = bySession.get(at[i]!);
    if (sessionTransfers) sessionTransfers.push(transfer);
    else bySession.set(at[i]!, [transfer]);
  }
  return bySession;
}

/**
 * Maps the transfers of sessions that both calendars have. Transfers of a longer span are part of the weights before
 * the span's event.
 */
function mapTransfers({ at, slot, dividends, moved }: Transfers, positions: Int32Array): Transfers {
  const keptTransfers = { at: [] as number[], i: [] as number[] };
  for (let t = 1; t < positions.length; t++) {
    const p = positions[t]!;
    if (positions[t - 1] !== p - 1) continue;
    for (let i = findFirstAtLeast(at, p); i < at.length && at[i] === p; i++) {
      keptTransfers.at.push(t);
      keptTransfers.i.push(i);
    }
  }
  return {
    at: Int32Array.from(keptTransfers.at),
    slot: Int32Array.from(keptTransfers.i, (i) => slot[i]!),
    dividends: Float64Array.from(keptTransfers.i, (i) => dividends[i]!),
    moved: Float64Array.from(keptTransfers.i, (i) => moved[i]!),
    ...NO_COUNT_CHANGES,
  };
}

/** Returns the fraction that leaves over each span, as if all securities left at its last close. */
function mapExitShares(exitShares: Float64Array, positions: Int32Array): Float64Array {
  const remainders = computeSpanProducts(
    exitShares.map((share) => 1 - share),
    positions,
  );
  return remainders.map((remainder) => 1 - remainder);
}

/**
 * Returns the growth from prices over each span. Over a span of several sessions it is `gross`, because the weights
 * before the merged event of the span are fractions of the value at `gross`.
 */
function mapDrift(drift: Float64Array, { positions, gross }: Omit<MappedBook, 'events'>): Float64Array {
  return Float64Array.from(positions, (p, t) => (t > 0 && positions[t - 1] === p - 1 ? drift[p]! : gross[t]!));
}

/** Returns the return components of an overlay over each span. */
function mapOverlay(book: Book, overlay: BookOverlay, { positions, gross, events }: MappedBook): BookOverlay {
  const drift = Float64Array.from(positions, (p, t) =>
    t > 0 && positions[t - 1] === p - 1 ? overlay.drift[p]! : gross[t]!,
  );
  for (const { at } of events) drift[at] = gross[at]!;
  const parts = overlay.parts.map((part) => ({
    ...part,
    contributions: Float64Array.from(positions, (p, t) => {
      let [sum, grown] = [0, 1];
      for (let s = t === 0 ? p + 1 : positions[t - 1]! + 1; s <= p; s++) {
        sum += grown * part.contributions[s]!;
        grown *= book.gross[s]!;
      }
      return sum;
    }),
  }));
  return { ...overlay, drift, parts };
}

function mapOrder(order: UnfilledOrder, placedAt: (position: number) => number): UnfilledOrder {
  const { at, filledAt, replacedAt } = order;
  const placeLater = (position: number | null): number | null => (position === null ? null : placedAt(position));
  return { ...order, at: placedAt(at), filledAt: placeLater(filledAt), replacedAt: placeLater(replacedAt) };
}

function mapGaps(gaps: readonly Gap[], positionOf: (session: number) => number, to: number): Gap[] {
  return gaps
    .map(({ session, column }) => ({ session: positionOf(session), column }))
    .filter(({ session }) => session <= to);
}
