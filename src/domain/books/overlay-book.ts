import type { OverlayPath } from '../overlays/overlay-type.js';
import { findOverlayType, type OverlaySpec } from '../overlays/catalogue.js';
import { readDrift, readSecurityCurrency, type Book, type BookEvent, type BookOverlay } from './book.js';
import { NO_COUNT_CHANGES, listTransfers, type Transfers } from './transfers.js';
import { listOrders, type EarlierOrders, type Layer } from './overlay-orders.js';
import { listParts } from './overlay-parts.js';
import type { Compositions } from './compositions.js';
import { readShares } from './overlay-context.js';
import { readOverlay, computeOverlayPath } from './overlay-path.js';

export interface OverlayBookInput {
  readonly compositions: Compositions & Required<Pick<Compositions, 'overlay'>>;
  /** Last session of the overlay book. */
  readonly to: number;
  /** True to compute only levels. */
  readonly isBrief: boolean;
  /** Returns the book of an underlying index. */
  readonly bookOf: (source: Compositions) => Book;
}

/**
 * Computes an overlay as a book: holdings by security after each close, return components and level.
 * @throws Refusal FX_MISSING, NO_DATA_AT_DATE, NUMERIC_FAILURE
 * @cost O(T H) in addition to the underlying books
 */
export function createOverlayBook({ compositions, to, isBrief, bookOf }: OverlayBookInput): Book {
  const { overlay, sm, first: from, document } = compositions;
  const underlyingBooks = overlay.sources.map(bookOf);
  const { currency } = overlay.sources[0]!.document;
  const type = findOverlayType(overlay.spec);
  const codes = type.weighed(overlay.spec);
  // All return variants hedge with the currency weights of the native variant.
  const shares =
    overlay.book?.overlay?.shares ?? readShares({ book: underlyingBooks[0]!, currency, codes, first: from, to });
  const path = computeOverlayPath(
    { sm, first: from, document: readOverlay(document), currency },
    { beneath: underlyingBooks, shares, to },
  );
  const valuationCurrency = findValuationCurrency(overlay.spec, underlyingBooks[0]!, currency);
  return createPathBook({
    path,
    beneath: underlyingBooks,
    shares,
    valued: valuationCurrency,
    sm,
    from,
    level: document.base_value,
    isBrief,
    indexId: document.id,
  });
}

/**
 * Returns the valuation currency of an overlay's securities. Returns undefined if it is the currency of the overlay.
 */
export function findValuationCurrency(spec: OverlaySpec, underlyingBook: Book, currency: string): string | undefined {
  const type = findOverlayType(spec);
  const targetCurrency = type.currency(spec);
  if (targetCurrency === null) return underlyingBook.overlay?.securitiesIn;
  return type.converts ? undefined : readSecurityCurrency(underlyingBook, { currency });
}

export interface PathBookInput {
  readonly path: OverlayPath;
  readonly beneath: readonly Book[];
  readonly shares: BookOverlay['shares'];
  /** Valuation currency of the securities, if it differs from the currency of the overlay. */
  readonly valued: string | undefined;
  readonly sm: Book['sm'];
  /** First session of the book. */
  readonly from: number;
  /** Level on the first session. */
  readonly level: number;
  readonly isBrief: boolean;
  readonly indexId: string;
  /** State of a resumed overlay before the first session; absent for a new overlay. */
  readonly resumed?: Pick<BookOverlay, 'hasCurrencyPart'> & EarlierOrders;
}

/** Computes the holdings and return components of an overlay along its path. */
export function createPathBook(input: PathBookInput): Book {
  const { path, beneath, shares, valued, sm, from, level, isBrief, indexId, resumed } = input;
  const length = path.growth.length;
  const value = new Float64Array(length);
  for (let t = 0; t < length; t++) value[t] = t === 0 ? level : value[t - 1]! * path.growth[t]!;
  const slots = assignBookSlots(beneath);
  const layers = beneath.map((book, k) => createLayer(book, { slots, path, k, from }));
  const isResumed = resumed !== undefined;
  const rows = isBrief
    ? allocateRows(length)
    : computeRows(layers, path, { width: slots.columns.length, value, isResumed });
  const first = layers[0]!;
  const hasCurrencyPart = resumed?.hasCurrencyPart === true || (!isBrief && path.exchange !== null && hasCash(layers));
  return {
    sm,
    from,
    length,
    columns: slots.columns,
    value,
    gross: path.growth,
    path: path.growth,
    begins: new Uint8Array(length).fill(1),
    divisor: new Float64Array(length).fill(1),
    costs: new Float64Array(length),
    ...rows,
    ...(isBrief ? {} : listTransfersOfLayers(layers, length)),
    unfilled: isBrief ? [] : listOrders(layers, value, resumed),
    gaps: listGapsOfBooks(beneath, from, 'gaps'),
    silent: listGapsOfBooks(beneath, from, 'silent'),
    pending: null,
    end: { stretchValue: value.at(-1)!, value: value.at(-1)! },
    overlay: {
      beneath,
      ...(valued === undefined ? {} : { securitiesIn: valued }),
      hasCurrencyPart,
      drift: computeDrift(path, first, rows.events),
      shares,
      parts: isBrief ? [] : listParts(layers, path, { indexId, hasCurrencyPart }),
      ...(path.explain ? { explain: path.explain } : {}),
    },
  };
}

/** Columns of all underlying books, ascending, and the position of each book's columns among them. */
interface Slots {
  readonly columns: Int32Array;
  /** Positions, [sources][columns of the book]. */
  readonly places: readonly Int32Array[];
}

function assignBookSlots(underlyingBooks: readonly Book[]): Slots {
  const columns = Int32Array.from(new Set(underlyingBooks.flatMap((book) => [...book.columns]))).toSorted();
  const slotByColumn = new Map(Array.from(columns, (column, slot) => [column, slot]));
  return { columns, places: underlyingBooks.map((book) => book.columns.map((column) => slotByColumn.get(column)!)) };
}

interface LayerInput {
  readonly slots: Slots;
  readonly path: OverlayPath;
  readonly k: number;
  readonly from: number;
}

function createLayer(book: Book, { slots, path, k, from }: LayerInput): Layer {
  return {
    book,
    places: slots.places[k]!,
    shift: from - book.from,
    exposure: path.exposures[k]!,
    exchange: path.exchange,
    drift: readDrift(book),
  };
}

/** Returns the growth from prices of an underlying book over a session, in the overlay currency. */
function computeLayerDrift({ drift, shift, exchange }: Layer, t: number): number {
  return drift[t + shift]! * (exchange === null ? 1 : exchange[t]!);
}

/** Returns the growth of an underlying book over a session, in the overlay currency. */
function computeLayerGrowth({ book, shift, exchange }: Layer, t: number): number {
  return book.gross[t + shift]! * (exchange === null ? 1 : exchange[t]!);
}

/**
 * Returns true if weights and level of an underlying book drift by different factors. This is the case, for example,
 * for an overlay that trades on every session.
 */
function isTrading({ book, shift, drift }: Layer, t: number): boolean {
  return drift[t + shift] !== book.gross[t + shift];
}

type Rows = Pick<Book, 'weights' | 'cash' | 'counts' | 'everHeld' | 'events'>;

function allocateRows(length: number): Rows {
  return {
    weights: new Float64Array(0),
    cash: new Float64Array(length),
    counts: new Int32Array(length),
    everHeld: new Uint8Array(0),
    events: [],
  };
}

interface RowTerms {
  readonly width: number;
  readonly value: Float64Array;
  /** True if the overlay was held before the first session. */
  readonly isResumed: boolean;
}

function computeRows(
  layers: readonly Layer[],
  { growth, resets }: OverlayPath,
  { width, value, isResumed }: RowTerms,
): Rows {
  const length = growth.length;
  const weights = new Float64Array(length * width);
  const cash = new Float64Array(length).fill(1);
  const counts = new Int32Array(length);
  const everHeld = new Uint8Array(width);
  const events: BookEvent[] = [];
  const eventsByLayer = layers.map(({ book, shift }) => new Map(book.events.map((event) => [event.at - shift, event])));
  for (let t = 0; t < length; t++) {
    const row = weights.subarray(t * width, (t + 1) * width);
    for (const layer of layers) addWeights(row, layer, t);
    for (let slot = 0; slot < width; slot++) {
      const weight = row[slot]!;
      if (weight === 0) continue;
      cash[t]! -= weight;
      counts[t]!++;
      everHeld[slot] = 1;
    }
    const layerEvents = eventsByLayer.map((of) => of.get(t));
    if (t === 0) {
      if (!isResumed) events.push(createOpeningEvent(width, value[0]!));
      continue;
    }
    // If several underlying books drift by different factors, the weights before a close are stored as on sessions with
    // events.
    const hasOwnDrifts = layers.length > 1 && layers.some((layer) => isTrading(layer, t));
    const isReset = resets?.[t] === 1;
    if (isReset || hasOwnDrifts || layerEvents.some((event) => event !== undefined))
      events.push(combineEvents({ t, layerEvents, layers, width, growth: growth[t]!, value: value[t]!, isReset }));
  }
  return { weights, cash, counts, everHeld, events };
}

function addWeights(row: Float64Array, { book, places, shift, exposure }: Layer, t: number): void {
  const position = (t + shift) * places.length;
  for (let i = 0; i < places.length; i++) row[places[i]!]! += exposure[t]! * book.weights[position + i]!;
}

function createOpeningEvent(width: number, valueBefore: number): BookEvent {
  const before = new Float64Array(width);
  return { at: 0, rebalanced: true, valueBefore, before, conversions: [], exits: [], fills: [] };
}

interface CombinedEventInput {
  readonly t: number;
  /** Events of the underlying books at session `t`, one per book. */
  readonly layerEvents: readonly (BookEvent | undefined)[];
  readonly layers: readonly Layer[];
  readonly width: number;
  readonly growth: number;
  readonly value: number;
  readonly isReset: boolean;
}

/** Returns the combined event of the underlying books on a session, as overlay weights before trades. */
function combineEvents({ t, layerEvents, layers, width, growth, value, isReset }: CombinedEventInput): BookEvent {
  const before = new Float64Array(width);
  const mergedEvent = {
    conversions: [] as BookEvent['conversions'][number][],
    exits: [] as BookEvent['exits'][number][],
    fills: [] as BookEvent['fills'][number][],
  };
  layers.forEach((layer, k) => {
    const { book, places, shift, exposure } = layer;
    const event = layerEvents[k];
    const heldPart = (exposure[t - 1]! * computeLayerGrowth(layer, t)) / growth;
    const driftedWeights =
      event?.before ?? book.weights.subarray((t + shift) * places.length, (t + shift + 1) * places.length);
    const layerScale = isTrading(layer, t) ? (heldPart * layer.drift[t + shift]!) / book.gross[t + shift]! : heldPart;
    for (let i = 0; i < places.length; i++) before[places[i]!]! += layerScale * driftedWeights[i]!;
    if (event === undefined) return;
    const money = (heldPart * value) / event.valueBefore;
    for (const { slot, into, weight } of event.conversions)
      mergedEvent.conversions.push({ slot: places[slot]!, into: places[into]!, weight: heldPart * weight });
    for (const { slot, change } of event.exits)
      mergedEvent.exits.push({ slot: places[slot]!, change: heldPart * change });
    for (const { slot, notional } of event.fills)
      mergedEvent.fills.push({ slot: places[slot]!, notional: money * notional });
  });
  const rebalanced = isReset || layerEvents.some((event) => event?.rebalanced === true);
  const isUntraded = !isReset && layerEvents.every((event) => event === undefined || event.isUntraded === true);
  return { at: t, rebalanced, valueBefore: value, before, ...mergedEvent, ...(isUntraded ? { isUntraded } : {}) };
}

/**
 * Returns the factor from the weights after each close to the weights before the next close, [T]. On a session with an
 * event it is the growth of the overlay, because the stored weights before the event refer to that growth. The same
 * applies with several underlying indices and without exposure. Otherwise it is the price growth of the underlying
 * index, times the previous exposure over the new one.
 */
function computeDrift(
  { growth, exposures }: OverlayPath,
  layer: Layer,
  events: readonly BookEvent[],
): BookOverlay['drift'] {
  const exposure = exposures[0]!;
  const drift = growth.map((own, t) =>
    t === 0 || exposures.length > 1 || exposure[t] === 0
      ? own
      : (computeLayerDrift(layer, t) * exposure[t - 1]!) / exposure[t]!,
  );
  for (const { at } of events) drift[at] = growth[at]!;
  return drift;
}

/**
 * Returns dividends and adjusted closes of the underlying books, scaled by the exposure to each book. Returns an empty
 * object if there are none.
 */
function listTransfersOfLayers(layers: readonly Layer[], length: number): Pick<Book, 'transfers'> {
  const rows = layers.flatMap(({ book, places, shift, exposure, exchange }) => {
    const transfers = listTransfers(book);
    if (transfers === undefined) return [];
    return Array.from(transfers.at, (p, i) => {
      const t = p - shift;
      const heldPart = t < 1 || t >= length ? 0 : exposure[t - 1]! * (exchange === null ? 1 : exchange[t]!);
      return {
        t,
        slot: places[transfers.slot[i]!]!,
        dividends: heldPart * transfers.dividends[i]!,
        moved: heldPart * transfers.moved[i]!,
      };
    }).filter(({ t }) => t >= 1 && t < length);
  });
  if (rows.length === 0) return {};
  const sortedRows = layers.length === 1 ? rows : rows.toSorted((a, b) => a.t - b.t || a.slot - b.slot);
  const transfers: Transfers = {
    at: Int32Array.from(sortedRows, ({ t }) => t),
    slot: Int32Array.from(sortedRows, ({ slot }) => slot),
    dividends: Float64Array.from(sortedRows, ({ dividends }) => dividends),
    moved: Float64Array.from(sortedRows, ({ moved }) => moved),
    ...NO_COUNT_CHANGES,
  };
  return { transfers };
}

function hasCash(layers: readonly Layer[]): boolean {
  return layers.some(({ book, shift }) => book.cash.subarray(shift).some((cash) => Math.abs(cash) > CASH_MIN));
}

/** Fraction of the value below which cash counts as a rounding error. */
const CASH_MIN = 1e-12;

function listGapsOfBooks(underlyingBooks: readonly Book[], from: number, which: 'gaps' | 'silent'): Book['gaps'] {
  const seenKeys = new Set<string>();
  return underlyingBooks
    .flatMap((book) => book[which])
    .filter(({ session, column }) => {
      const key = `${session} ${column}`;
      const isNew = session >= from && !seenKeys.has(key);
      seenKeys.add(key);
      return isNew;
    })
    .toSorted((a, b) => a.session - b.session || a.column - b.column);
}
