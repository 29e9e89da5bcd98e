import type { Day } from '../time/days.js';
import { exchangeRates } from '../market/exchange-rates.js';
import type { CorporateAction } from '../market/market-data.js';
import { panelRow } from '../market/session-market.js';
import type { Book, BookEvent, UnfilledOrder } from './book.js';
import { eventsOn, valueInUnitsOf, type EventTerms, type Exit } from './book-events.js';
import type { Composition, Compositions } from './compositions.js';
import type { SwapRule } from './constituent-swap.js';
import { indexTerms } from './index-run.js';

/** Everything by which a name comes into an index or leaves it, in words. */
export const CHANGE_EVENTS = {
  rebalance: 'the composition of a rebalance took effect',
  replacement: 'a change between reviews by `events.replacement`: it entered for `related`, or was replaced by it',
  fast_exit: 'a change between reviews by `events.fast_exit`: it entered for `related`, or left for it',
  fast_entry: 'a change between reviews by `events.fast_entry`: it entered for `related`, or left for it',
  order: 'an order of a rebalance that had waited for a bar was filled',
  merger: 'a merger, into `related` or at the last close where that had no price',
  acquisition: 'an acquisition',
  delisting: 'a delisting',
  ticker_change: 'a change of ticker',
  spin_off: 'the first price of a name spun off from `related`',
  spin_off_exit: 'the first close of a spun-off security, with `spin_offs: "drop_after_first_session"`',
  silence: 'no bar on `max_stale_sessions` sessions, and no action',
  missing_price: 'no bar on a session, with `missing_prices: "exclude"`',
  total_loss: 'the index was worth nothing',
} as const;
export type ChangeEvent = keyof typeof CHANGE_EVENTS;

/** How a name came into an index, or left it, at a close. */
export interface ConstituentChange {
  readonly date: Day;
  readonly event: ChangeEvent;
  /** Of the corporate action; null without one. */
  readonly exDay: Day | null;
  /** Security into which it turned, from which it came, or whose place it took or lost between reviews; null without one. */
  readonly related: string | null;
  /**
   * Shares received for one: of `related` by a name that left, of the name itself by `related` where it came from that.
   */
  readonly ratio: number | null;
  /** Fraction of the index: with which it left, before the trades of the close; with which it came, after them. */
  readonly weight: number;
  /** Money per share, in `currency`: what it brought, shares of another name and cash together. */
  readonly price: number;
  /** Currency in which the name is quoted. */
  readonly currency: string;
  /** Day of its latest bar by then. */
  readonly lastBar: Day | null;
  /** Rebalance that asked for it, where its order had waited; else null. */
  readonly orderedOn: Day | null;
}

/** An order of a rebalance that waits for a bar. */
export interface WaitingOrder extends Pick<UnfilledOrder, 'side' | 'target' | 'reason'> {
  /** Rebalance that asked for it. */
  readonly date: Day;
}

/** A name in an index at a close. */
export interface Presence {
  /** Weight held, null when it is not. */
  readonly held: number | null;
  /** How it came in last; null when it never did. */
  readonly entered: ConstituentChange | null;
  /** How it left last; null when it never did. */
  readonly left: ConstituentChange | null;
  readonly order: WaitingOrder | null;
}

/** Whether a name is in an index at the close that its book ends on, how it came in and how it left. @cost O(T) */
export function presenceOf(book: Book, compositions: Compositions, column: number): Presence {
  const { columns, weights, length, events } = book;
  const slot = columns.indexOf(column);
  if (slot < 0) return { held: null, entered: null, left: null, order: null };
  const name = { book, terms: termsOf(compositions), list: compositions.list, slot, column };
  const eventAt = new Map(events.map((event) => [event.at, event]));
  let entered: ConstituentChange | null = null;
  let left: ConstituentChange | null = null;
  let weight = 0;
  for (let at = 0; at < length; at++) {
    const event = eventAt.get(at);
    const after = weights[at * columns.length + slot]!;
    const before = event === undefined ? after : event.before[slot]!;
    const isSpunOff = weight === 0 && before !== 0;
    const wasIn = weight !== 0 || isSpunOff;
    if (isSpunOff) entered = spunOff({ ...name, at }, before);
    else if (!wasIn && after !== 0) entered = entry({ ...name, at }, event!, after); // Nothing comes in without an event.
    if (wasIn && after === 0) left = departure({ ...name, at }, event, isSpunOff);
    weight = after;
  }
  return { held: weight === 0 ? null : weight, entered, left, order: waitingOrder(book, slot, weight !== 0) };
}

/** One name at one close of a book. */
interface NameAt {
  readonly book: Book;
  readonly terms: EventTerms;
  readonly list: readonly Composition[];
  readonly slot: number;
  readonly column: number;
  /** Position from the first session of the book. */
  readonly at: number;
}

function termsOf(compositions: Compositions): EventTerms {
  const { sm, treatment, document, outside } = compositions;
  return { sm, treatment, outside, growth: indexTerms(compositions), rates: exchangeRates(sm, document.currency) };
}

/** The first price of a spun-off name, or its share of the close where it was traded away at once. */
function spunOff(name: NameAt, weight: number): ConstituentChange {
  const action = turning(name, 'SPIN_OFF', { into: name.column });
  return change(name, {
    event: 'spin_off',
    weight,
    action,
    related: action?.identifier ?? null,
    ratio: action?.value ?? null,
  });
}

function entry(name: NameAt, event: BookEvent, weight: number): ConstituentChange {
  const { book, terms, slot, column, at } = name;
  const conversion = event.conversions.find(({ into }) => into === slot);
  if (conversion === undefined) return traded(name, event, weight);
  const from = book.columns[conversion.slot]!;
  const merger = mergerOf(terms, book.from + at, from);
  const action = merger?.action ?? turning(name, 'TICKER_CHANGE', { from, into: column });
  return change(name, {
    event: merger ? 'merger' : 'ticker_change',
    weight,
    action,
    related: book.sm.identifiers[from]!,
    ratio: merger ? merger.action.value : 1,
  });
}

/** The merger by which a name turns into another on a session; undefined where it does not. */
function mergerOf(terms: EventTerms, session: number, column: number): Exit | undefined {
  const today = eventsOn(terms, session);
  return today?.conversions.has(column) ? today.exits.get(column) : undefined;
}

/** @param isSpunOff whether it had its first price on the session */
function departure(name: NameAt, event: BookEvent | undefined, isSpunOff: boolean): ConstituentChange {
  const { book, terms, slot, column, at } = name;
  const session = book.from + at;
  const conversion = event?.conversions.find((converted) => converted.slot === slot);
  const move = event?.exits.find((exit) => exit.slot === slot);
  if (conversion !== undefined)
    return converted(name, conversion.weight - (move?.change ?? 0), book.columns[conversion.into]!);
  // A name that was worth nothing is not among them where nothing else was left.
  if (event !== undefined && move === undefined) return traded(name, event, event.before[slot]!);
  const weight = move === undefined ? 0 : 0 - move.change;
  const exit = eventsOn(terms, session)?.exits.get(column);
  if (exit !== undefined) return change(name, { event: ENDINGS[exit.type], weight, ...exit });
  if (isSpunOff && move !== undefined) return change(name, { event: 'spin_off_exit', weight });
  const isSilent = book.silent.some((gap) => gap.session === session && gap.column === column);
  return change(name, { event: isSilent ? 'silence' : move === undefined ? 'total_loss' : 'missing_price', weight });
}

const ENDINGS = { MERGER: 'merger', ACQUISITION: 'acquisition', DELISTING: 'delisting' } as const;

/** A holding that turned into one of another name. */
function converted(name: NameAt, weight: number, into: number): ConstituentChange {
  const { book, terms, column, at } = name;
  const session = book.from + at;
  const merger = mergerOf(terms, session, column);
  const related = book.sm.identifiers[into]!;
  if (merger !== undefined)
    return change(name, { event: 'merger', weight, related, ratio: merger.action.value, ...merger });
  return change(name, {
    event: 'ticker_change',
    weight,
    related,
    ratio: 1,
    action: turning(name, 'TICKER_CHANGE', { from: column, into }),
    proceeds: valueInUnitsOf(terms, session, { priced: into, quoted: column }),
  });
}

/** A trade to the weights of a rebalance: at its close, or at that of a later bar which its order had waited for. */
function traded(name: NameAt, { rebalanced }: BookEvent, weight: number): ConstituentChange {
  const { book, slot, at } = name;
  if (rebalanced) return change(name, { ...swapOf(name), weight });
  const order = book.unfilled.find((unfilled) => unfilled.slot === slot && unfilled.filledAt === at);
  return change(name, { event: 'order', weight, orderedOn: order === undefined ? null : dayAt(book, order.at) });
}

/** The change between reviews that brought a security in or took it out at a close; else the rebalance. */
function swapOf({ book, list, column, at }: NameAt): Pick<ConstituentChange, 'event'> & { readonly related?: string } {
  const composition = list.find(({ session }) => session === book.from + at);
  const swap = composition?.swaps?.find(({ entered, left }) => entered === column || left === column);
  if (swap === undefined) return { event: 'rebalance' };
  const other = swap.entered === column ? swap.left : swap.entered;
  return { event: SWAP_EVENTS[swap.rule], related: book.sm.identifiers[other]! };
}

const SWAP_EVENTS = {
  next_ranked: 'replacement',
  reserve: 'replacement',
  fast_exit: 'fast_exit',
  fast_entry: 'fast_entry',
} as const satisfies Record<SwapRule, ChangeEvent>;

interface Turning {
  /** Column that turns into another; any unless given. */
  readonly from?: number;
  readonly into: number;
}

/** The latest action of a kind up to a close that gives a name for another. */
function turning({ book, at }: NameAt, type: CorporateAction['type'], { from, into }: Turning) {
  const { sm } = book;
  return sm.actions.related.findLast(
    ({ session, column, action }) =>
      session <= book.from + at &&
      action.type === type &&
      (from === undefined || column === from) &&
      sm.columnOf(action.related!) === into, // All of these have one.
  )?.action;
}

interface Cause
  extends
    Pick<ConstituentChange, 'event' | 'weight'>,
    Partial<Pick<ConstituentChange, 'related' | 'ratio' | 'orderedOn'>> {
  readonly action?: CorporateAction | undefined;
  /** Money a share; the latest close unless given. */
  readonly proceeds?: number | undefined;
}

function change({ book, terms, column, at }: NameAt, cause: Cause): ConstituentChange {
  const { event, weight, action, proceeds, related = null, ratio = null, orderedOn = null } = cause;
  const { sm } = book;
  const session = book.from + at;
  const bar = sm.lastBar[panelRow(sm, session) + column]!;
  return {
    date: dayAt(book, at),
    event,
    exDay: action?.exDay ?? null,
    related,
    ratio,
    weight,
    price: proceeds ?? sm.carriedClose(session, column),
    currency: terms.rates.currencyAt(session, column),
    lastBar: bar < 0 ? null : sm.sessions[bar]!,
    orderedOn,
  };
}

function dayAt({ sm, from }: Book, at: number): Day {
  return sm.sessions[from + at]!;
}

/** The order of a name that the latest rebalance left waiting; a sale of what is gone waits for nothing. */
function waitingOrder(book: Book, slot: number, isHeld: boolean): WaitingOrder | null {
  const order = book.unfilled.findLast(
    (one) => one.slot === slot && one.filledAt === null && one.replacedAt === null && (isHeld || one.side === 'buy'),
  );
  if (order === undefined) return null;
  const { side, target, reason, at } = order;
  return { side, target, reason, date: dayAt(book, at) };
}
