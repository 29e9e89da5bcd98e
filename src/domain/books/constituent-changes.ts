import type { Day } from '../base/time.js';
import { createExchangeRates } from '../market/rates.js';
import type { CorporateAction } from '../market/market-data.js';
import type { Book, BookEvent, UnfilledOrder } from './book.js';
import { readCarriedClose } from '../market/growth.js';
import { convertPrice, type EventTerms, type Exit, listEvents } from './events.js';
import type { Composition, Compositions, SwapRule } from './compositions.js';
import { createIndexTerms } from './index-run.js';

/** Ways in which a security enters or leaves an index, with descriptions. */
export const CHANGE_EVENTS = {
  rebalance: 'the composition of a rebalance took effect',
  replacement:
    'a change between reviews by `events.replacement`: the security replaced `related`, or was replaced by it',
  fast_exit: 'a change between reviews by `events.fast_exit`: the security replaced `related`, or was replaced by it',
  fast_entry: 'a change between reviews by `events.fast_entry`: the security replaced `related`, or was replaced by it',
  order: 'an order of a rebalance was filled after it had waited for a price bar',
  merger: 'a merger into `related`, or an exit at the last close if `related` had no price',
  acquisition: 'an acquisition',
  delisting: 'a delisting',
  ticker_change: 'a change of ticker',
  spin_off: 'the first price of a security spun off from `related`',
  spin_off_exit: 'the first close of a spun-off security, with `spin_offs: "drop_after_first_session"`',
  silence: 'no price bar for `max_stale_sessions` sessions, without a corporate action',
  missing_price: 'no price bar on a session, with `missing_prices: "exclude"`',
  total_loss: 'the value of the index was 0',
} as const;
export type ChangeEvent = keyof typeof CHANGE_EVENTS;

/** Entry or exit of one security at a close. */
export interface ConstituentChange {
  readonly date: Day;
  readonly event: ChangeEvent;
  /** Ex-date of the corporate action; null if there is none. */
  readonly exDay: Day | null;
  /**
   * Other security of a conversion, spin-off or swap: the one into which this security converted, from which it came,
   * which it replaced or which replaced it. Null if there is none.
   */
  readonly related: string | null;
  /**
   * Shares received per share. If the security left, these are shares of `related`; if it came from `related`, they are
   * shares of this security.
   */
  readonly ratio: number | null;
  /** Weight in the index: on exit, before the trades of the close; on entry, after them. */
  readonly weight: number;
  /**
   * Price per share in `currency`: the proceeds of a corporate action (cash and shares of another security), otherwise
   * the latest close.
   */
  readonly price: number;
  /** Quotation currency of the security. */
  readonly currency: string;
  /** Day of the security's latest price bar at the time of the change. */
  readonly lastBar: Day | null;
  /** Rebalance day of an order that had to wait; otherwise null. */
  readonly orderedOn: Day | null;
}

/** Order of a rebalance that is waiting for a price bar. */
export interface WaitingOrder extends Pick<UnfilledOrder, 'side' | 'target' | 'reason'> {
  /** Rebalance day of the order. */
  readonly date: Day;
}

/** Membership of a security in an index at a close. */
export interface ConstituentPresence {
  /** Current weight; null if not held. */
  readonly held: number | null;
  /** Latest entry; null if the security never entered. */
  readonly entered: ConstituentChange | null;
  /** Latest exit; null if the security never left. */
  readonly left: ConstituentChange | null;
  readonly order: WaitingOrder | null;
}

/**
 * Returns the weight of a security at the last close of an index book, with its latest entry and exit.
 * @cost O(T)
 */
export function findPresence(book: Book, compositions: Compositions, column: number): ConstituentPresence {
  const { columns, weights, length, events } = book;
  const slot = columns.indexOf(column);
  if (slot < 0) return { held: null, entered: null, left: null, order: null };
  const name = { book, terms: createEventTerms(compositions), list: compositions.list, slot, column };
  const eventByPosition = new Map(events.map((event) => [event.at, event]));
  let entryChange: ConstituentChange | null = null;
  let departure: ConstituentChange | null = null;
  let weight = 0;
  for (let position = 0; position < length; position++) {
    const event = eventByPosition.get(position);
    const after = weights[position * columns.length + slot]!;
    const before = event === undefined ? after : event.before[slot]!;
    const isSpunOff = weight === 0 && before !== 0;
    const wasConstituent = weight !== 0 || isSpunOff;
    if (isSpunOff) entryChange = describeSpinOff({ ...name, at: position }, before);
    else if (!wasConstituent && after !== 0) entryChange = describeEntry({ ...name, at: position }, event!, after); // a security enters only through an event
    if (wasConstituent && after === 0) departure = describeDeparture({ ...name, at: position }, event, isSpunOff);
    weight = after;
  }
  return {
    held: weight === 0 ? null : weight,
    entered: entryChange,
    left: departure,
    order: findWaitingOrder(book, slot, weight !== 0),
  };
}

/** Security at one close of an index book. */
interface SecurityAtClose {
  readonly book: Book;
  readonly terms: EventTerms;
  readonly list: readonly Composition[];
  readonly slot: number;
  readonly column: number;
  /** Session index, counted from the first session of the book. */
  readonly at: number;
}

function createEventTerms(compositions: Compositions): EventTerms {
  const { sm, treatment, document, outside } = compositions;
  return {
    sm,
    treatment,
    outside,
    growth: createIndexTerms(compositions),
    rates: createExchangeRates(sm, document.currency),
  };
}

/** Describes the first price of a spun-off security. If it was sold immediately, describes its exit at that close. */
function describeSpinOff(name: SecurityAtClose, weight: number): ConstituentChange {
  const action = findConversionAction(name, 'SPIN_OFF', { into: name.column });
  return createChange(name, {
    event: 'spin_off',
    weight,
    action,
    related: action?.identifier ?? null,
    ratio: action?.value ?? null,
  });
}

function describeEntry(name: SecurityAtClose, event: BookEvent, weight: number): ConstituentChange {
  const { book, terms, slot, column, at } = name;
  const conversion = event.conversions.find(({ into }) => into === slot);
  if (conversion === undefined) return describeTrade(name, event, weight);
  const from = book.columns[conversion.slot]!;
  const merger = findMerger(terms, book.from + at, from);
  const action = merger?.action ?? findConversionAction(name, 'TICKER_CHANGE', { from, into: column });
  return createChange(name, {
    event: merger ? 'merger' : 'ticker_change',
    weight,
    action,
    related: book.sm.identifiers[from]!,
    ratio: merger?.ratio ?? 1,
  });
}

/**
 * Returns the merger by which a security converts into another security on a session. Returns undefined if there is
 * none.
 */
function findMerger(terms: EventTerms, session: number, column: number): Exit | undefined {
  const today = listEvents(terms, session);
  return today?.conversions.has(column) ? today.exits.get(column) : undefined;
}

/**
 * Describes the exit of a security.
 * @param isSpunOff true if its first price was on the session
 */
function describeDeparture(name: SecurityAtClose, event: BookEvent | undefined, isSpunOff: boolean): ConstituentChange {
  const { book, terms, slot, column, at } = name;
  const session = book.from + at;
  const conversion = event?.conversions.find((converted) => converted.slot === slot);
  const move = event?.exits.find((exit) => exit.slot === slot);
  if (conversion !== undefined)
    return describeConversion(name, conversion.weight - (move?.change ?? 0), book.columns[conversion.into]!);
  // A security without value is missing from `exits` if no holdings remain.
  if (event !== undefined && move === undefined) return describeTrade(name, event, event.before[slot]!);
  const weight = move === undefined ? 0 : 0 - move.change;
  const exit = listEvents(terms, session)?.exits.get(column);
  if (exit !== undefined) {
    const { type, action, proceeds } = exit;
    return createChange(name, { event: ENDING_EVENTS[type], weight, action, proceeds });
  }
  if (isSpunOff && move !== undefined) return createChange(name, { event: 'spin_off_exit', weight });
  const isSilent = book.silent.some((gap) => gap.session === session && gap.column === column);
  return createChange(name, {
    event: isSilent ? 'silence' : move === undefined ? 'total_loss' : 'missing_price',
    weight,
  });
}

const ENDING_EVENTS = { MERGER: 'merger', ACQUISITION: 'acquisition', DELISTING: 'delisting' } as const;

function describeConversion(name: SecurityAtClose, weight: number, into: number): ConstituentChange {
  const { book, terms, column, at } = name;
  const session = book.from + at;
  const merger = findMerger(terms, session, column);
  const relatedIdentifier = book.sm.identifiers[into]!;
  if (merger !== undefined)
    return createChange(name, {
      event: 'merger',
      weight,
      related: relatedIdentifier,
      ...merger,
    });
  return createChange(name, {
    event: 'ticker_change',
    weight,
    related: relatedIdentifier,
    ratio: 1,
    action: findConversionAction(name, 'TICKER_CHANGE', { from: column, into }),
    proceeds: convertPrice(terms, session, { priced: into, quoted: column }),
  });
}

/**
 * Describes a trade to the weights of a rebalance. The trade is at the close of the rebalance, or at a later close if
 * the order waited.
 */
function describeTrade(name: SecurityAtClose, { rebalanced }: BookEvent, weight: number): ConstituentChange {
  const { book, slot, at } = name;
  if (rebalanced) return createChange(name, { ...findSwapEvent(name), weight });
  const order = book.unfilled.find((unfilled) => unfilled.slot === slot && unfilled.filledAt === at);
  return createChange(name, {
    event: 'order',
    weight,
    orderedOn: order === undefined ? null : readDayAt(book, order.at),
  });
}

/**
 * Returns the swap between reviews by which a security entered or left at a close. If there is none, the rebalance is
 * the cause.
 */
function findSwapEvent({
  book,
  list,
  column,
  at,
}: SecurityAtClose): Pick<ConstituentChange, 'event'> & { readonly related?: string } {
  const composition = list.find(({ session }) => session === book.from + at);
  const swap = composition?.swaps?.find(({ entered, left }) => entered === column || left === column);
  if (swap === undefined) return { event: 'rebalance' };
  const counterpart = swap.entered === column ? swap.left : swap.entered;
  return { event: SWAP_EVENTS[swap.rule], related: book.sm.identifiers[counterpart]! };
}

const SWAP_EVENTS = {
  next_ranked: 'replacement',
  reserve: 'replacement',
  fast_exit: 'fast_exit',
  fast_entry: 'fast_entry',
} as const satisfies Record<SwapRule, ChangeEvent>;

interface ConversionColumns {
  /** Column that converts into `into`. Default: any column. */
  readonly from?: number;
  readonly into: number;
}

/** Returns the latest corporate action, up to a close, that has a type and converts a security into another one. */
function findConversionAction(
  { book, at }: SecurityAtClose,
  type: CorporateAction['type'],
  { from, into }: ConversionColumns,
) {
  const { sm } = book;
  return sm.actions.related.findLast(
    ({ session, column, action }) =>
      session <= book.from + at &&
      action.type === type &&
      (from === undefined || column === from) &&
      sm.columnOf(action.related!) === into, // actions of these types always have a related identifier
  )?.action;
}

interface ChangeCause
  extends
    Pick<ConstituentChange, 'event' | 'weight'>,
    Partial<Pick<ConstituentChange, 'related' | 'ratio' | 'orderedOn'>> {
  readonly action?: CorporateAction | undefined;
  /** Proceeds per share in money. Default: the latest close. */
  readonly proceeds?: number | undefined;
}

function createChange({ book, terms, column, at }: SecurityAtClose, cause: ChangeCause): ConstituentChange {
  const { event, weight, action, proceeds, related = null, ratio = null, orderedOn = null } = cause;
  const { sm } = book;
  const session = book.from + at;
  const bar = sm.barDay(session, column);
  return {
    date: readDayAt(book, at),
    event,
    exDay: action?.exDay ?? null,
    related,
    ratio,
    weight,
    price: proceeds ?? readCarriedClose(sm, terms.growth, session, column),
    currency: terms.rates.currencyAt(session, column),
    lastBar: Number.isNaN(bar) ? null : bar,
    orderedOn,
  };
}

function readDayAt({ sm, from }: Book, position: number): Day {
  return sm.sessions[from + position]!;
}

/**
 * Returns the order of a security that the latest rebalance left unfilled. Returns null if there is none, or if a sale
 * waits but nothing is held.
 */
function findWaitingOrder(book: Book, slot: number, isHeld: boolean): WaitingOrder | null {
  const order = book.unfilled.findLast(
    (unfilledOrder) =>
      unfilledOrder.slot === slot &&
      unfilledOrder.filledAt === null &&
      unfilledOrder.replacedAt === null &&
      (isHeld || unfilledOrder.side === 'buy'),
  );
  if (order === undefined) return null;
  const { side, target, reason, at } = order;
  return { side, target, reason, date: readDayAt(book, at) };
}
