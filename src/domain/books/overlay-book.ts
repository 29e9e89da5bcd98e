import { findLastAtMost, joinFloats } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { formatDay, parseValidDay, toCivilDate } from '../base/time.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import { listTextSpans } from '../definition/amendments.js';
import { type IndexDocument, isOverlayDocument, type OverlayDocument } from '../definition/index-document.js';
import type { OverlayContext, OverlayPart, OverlayPath } from '../definition/overlay-type.js';
import { findOverlayType, type OverlaySpec } from '../definition/overlays.js';
import { listRebalanceDates } from '../definition/schedule.js';
import {
  createExchangeRates,
  createPair,
  findMajorUnit,
  readRateSeries,
  readSeriesRates,
  refuseRateNotAboveZero,
} from '../market/rates.js';
import { carryCloses } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';
import {
  type Book,
  type BookEvent,
  type BookOverlay,
  type BookPart,
  listTransfers,
  markEverHeld,
  moveOrder,
  NO_COUNT_CHANGES,
  readDrift,
  readBookCurrency,
  type Transfers,
  type UnfilledOrder,
} from './book.js';
import type { Compositions } from './compositions.js';

/** Underlying book on the sessions of the overlay. */
interface Layer {
  readonly book: Book;
  /** Positions of the book's columns among the overlay's columns. */
  readonly places: Int32Array;
  /** Session index in the book of the overlay's first session. */
  readonly shift: number;
  /** Exposure of the overlay to the book after each close, as a fraction, [T]. */
  readonly exposure: Float64Array;
  readonly exchange: Float64Array | null;
  /** Factor from the weights after the previous close to the weights before this close, by session of the book. */
  readonly drift: Float64Array;
}

/** Orders of an overlay before its first session, for a resumed overlay. */
export interface EarlierOrders {
  /** Orders up to the first session, with sessions relative to it. */
  readonly orders: readonly UnfilledOrder[];
  /** Number of sessions on which the overlay was held before. */
  readonly heldFor: number;
}

/**
 * Returns the orders of the underlying books on the overlay's sessions, in weights and money of the overlay, by
 * underlying book. Only the outcome of an order up to the first session is new; its other fields come from `earlier`.
 */
function listOrders(layers: readonly Layer[], value: Float64Array, earlier?: EarlierOrders): UnfilledOrder[] {
  let position = 0;
  return layers.flatMap(({ book, places, shift, exposure }) =>
    book.unfilled.flatMap((underlyingOrder) => {
      const order = { ...moveOrder(underlyingOrder, -shift), slot: places[underlyingOrder.slot]! };
      const { at, slot, filledAt, replacedAt } = order;
      if (at < -(earlier?.heldFor ?? 0)) return [];
      if (earlier !== undefined && at <= 0) return [{ ...earlier.orders[position++]!, slot, filledAt, replacedAt }];
      const heldPart = exposure[at]!;
      const notional = (heldPart * order.notional * value[at]!) / book.value[underlyingOrder.at]!;
      return [{ ...order, target: heldPart * order.target, held: heldPart * order.held, notional }];
    }),
  );
}

/** Returns the return components of an overlay, and of its underlying overlays, scaled by exposure. */
function listParts(
  layers: readonly Layer[],
  path: OverlayPath,
  { indexId, hasCurrencyPart }: { readonly indexId: string; readonly hasCurrencyPart: boolean },
): BookPart[] {
  const pathParts = path.parts.map(({ part, contributions }) => ({ indexId, part, contributions }));
  const inheritedParts = layers.flatMap((layer) =>
    (layer.book.overlay?.parts ?? []).map((part) => ({
      ...part,
      contributions: path.growth.map((_, t) =>
        t === 0 ? 0 : layer.exposure[t - 1]! * (layer.exchange?.[t] ?? 1) * part.contributions[t + layer.shift]!,
      ),
    })),
  );
  const { exchange } = path;
  if (exchange === null) return mergeParts([...pathParts, ...inheritedParts]);
  const currency = path.growth.map((_, t) => {
    if (t === 0) return 0;
    return layers.reduce(
      (sum, { book, shift, exposure }) => sum + exposure[t - 1]! * book.cash[t - 1 + shift]! * (exchange[t]! - 1),
      0,
    );
  });
  const currencyParts = hasCurrencyPart ? [{ indexId, part: 'currency' as const, contributions: currency }] : [];
  return mergeParts([...pathParts, ...currencyParts, ...inheritedParts]);
}

/** Merges components that occur several times. An overlay may underlie another overlay in several ways. */
function mergeParts(parts: readonly BookPart[]): BookPart[] {
  const byKey = new Map<string, BookPart>();
  for (const part of parts) {
    const key = `${part.indexId} ${part.part}`;
    const existingPart = byKey.get(key);
    const contributions =
      existingPart?.contributions.map((sum, t) => sum + part.contributions[t]!) ?? part.contributions;
    byKey.set(key, { ...part, contributions });
  }
  return [...byKey.values()];
}

interface OverlayTerms extends Pick<Compositions, 'sm' | 'first' | 'document'> {
  /** Currency of the underlying index. */
  readonly currency: string;
}

interface UnderlyingIndex {
  readonly beneath: readonly (Pick<Book, 'gross' | 'from'> & Pick<Book, 'drift' | 'exitShares'>)[];
  readonly shares: BookOverlay['shares'];
  readonly to: number;
}

/** Creates the access to market data and underlying books for an overlay type. */
function createOverlayContext(
  { sm, first, document, currency }: OverlayTerms,
  { beneath, shares, to }: UnderlyingIndex,
): OverlayContext {
  const days = sm.sessions.slice(first, to + 1);
  const formatDate = (t: number): string => formatDay(days[t]!);
  return {
    indexId: document.id,
    days,
    dateOf: formatDate,
    baseValue: document.base_value,
    periods: estimatePeriodsPerYear(sm.calendar.sessions),
    sources: beneath.map(({ gross, drift, exitShares, from }) => ({
      growth: gross.slice(first - from, to + 1 - from).fill(1, 0, 1),
      before: gross.slice(1, first - from + 1),
      priceGrowth: () => (drift ?? gross).slice(first - from, to + 1 - from).fill(1, 0, 1),
      exitShares: () => exitShares?.slice(first - from, to + 1 - from) ?? new Float64Array(days.length),
    })),
    rate(id) {
      const series = sm.market.series?.get(id);
      if (series === undefined)
        throw createMissingRefusal(
          `The overlay ${document.id} needs the series ${id}, which the data does not contain.`,
          id,
        );
      const carriedCloses = carryCloses(series, days);
      const position = carriedCloses.findIndex((value) => Number.isNaN(value));
      if (position >= 0)
        throw createMissingRefusal(
          `The overlay ${document.id} needs a value of the series ${id} on or before ${formatDate(position)}, but the series has no such value.`,
          id,
        );
      return readSeriesRates(series, carriedCloses, days);
    },
    exchange(quoted = currency) {
      const rates = readRateSeries(sm, quoted, document.currency)?.slice(first, to + 1);
      const position = rates?.findIndex((rate) => Number.isNaN(rate)) ?? 0;
      if (rates !== undefined && position < 0) return rates;
      const refusal =
        rates && refuseRateNotAboveZero(sm, { from: quoted, to: document.currency, session: first + position });
      if (refusal !== undefined) throw refusal;
      const pair = createPair(quoted, document.currency);
      throw new Refusal(
        'FX_MISSING',
        `The overlay ${document.id} needs the exchange rate ${pair}, which the data does not contain on ${formatDate(position)}.`,
        { pair },
      );
    },
    weightIn: (of) => shares[of]!, // the overlay type declares these currencies
    monthEnds: () => findMonthEnds(sm.calendar.sessions, days),
    resets(rebalance) {
      const dates = listRebalanceDates({
        rebalance,
        calendar: sm.calendar,
        baseDay: parseValidDay(document.base_date),
        from: days[0]! + 1,
        to: days.at(-1)!,
      });
      const resets = new Uint8Array(days.length);
      for (const { session } of dates) resets[findLastAtMost(days, session)] = 1;
      return resets;
    },
  };
}

/** Book whose weights are summed by currency. */
export interface WeightedUnderlying {
  readonly book: Pick<Book, 'sm' | 'from' | 'columns' | 'weights'>;
  /** Currency of the index, which also applies to securities without a currency. */
  readonly currency: string;
  readonly codes: readonly string[];
  /** First and last session of the weights. */
  readonly first: number;
  readonly to: number;
}

/**
 * Returns the weights by currency of the securities after each close, [T] each. Minor units count as their main
 * currency.
 * @cost O(T H)
 */
export function readShares({ book, currency, codes, first, to }: WeightedUnderlying): BookOverlay['shares'] {
  const { sm, from, columns, weights } = book;
  const rates = createExchangeRates(sm, currency);
  const shares = codes.map((code) => [code, new Float64Array(to + 1 - first)] as const);
  const shareByCurrency = new Map(shares.map(([code, share]) => [findMajorUnit(code), share]));
  if (shareByCurrency.size === 0) return {};
  for (let session = first; session <= to; session++)
    for (let slot = 0, position = (session - from) * columns.length; slot < columns.length; slot++, position++) {
      if (weights[position] === 0) continue;
      const share = shareByCurrency.get(findMajorUnit(rates.currencyAt(session, columns[slot]!)));
      if (share !== undefined) share[session - first]! += weights[position]!;
    }
  return Object.fromEntries(shares);
}

function createMissingRefusal(message: string, series: string): Refusal {
  return new Refusal('NO_DATA_AT_DATE', message, { series });
}

/**
 * Returns, for each day, the first month-end session after it, [T]. If no month end follows, returns the last available
 * session.
 */
function findMonthEnds(sessions: Int32Array, days: Int32Array): Int32Array {
  const ends = sessions.filter(
    (day, s) => s + 1 === sessions.length || toCivilDate(day).month !== toCivilDate(sessions[s + 1]!).month,
  );
  let position = 0;
  return days.map((day) => {
    while (position + 1 < ends.length && ends[position]! <= day) position++;
    return ends[position]!;
  });
}

function readOverlay(document: IndexDocument): OverlayDocument {
  if (isOverlayDocument(document)) return document;
  throw new Error(`${document.id} is not an overlay`);
}

interface OverlayOnMarket {
  readonly sm: SessionMarket;
  readonly first: number;
  readonly document: OverlayDocument;
  /** Currency of the underlying index. */
  readonly currency: string;
}

/** Sessions of an overlay under one version of its definition, from the first close to the last. */
interface Segment {
  readonly spec: OverlaySpec;
  readonly first: number;
  readonly to: number;
}

/**
 * Computes the path of an overlay through its underlying indices. An amended version begins at the overlay's level on
 * the amendment date.
 * @cost O(T sources)
 */
export function computeOverlayPath(overlay: OverlayOnMarket, underlying: UnderlyingIndex): OverlayPath {
  const { sm, first, document, currency } = overlay;
  const segments = listSegments(overlay, underlying.to);
  let level = document.base_value;
  const paths = segments.map((segment) => {
    const terms = { sm, first: segment.first, document: { ...document, base_value: level }, currency };
    const shares = sliceShares(underlying.shares, segment, first);
    const path = findOverlayType(segment.spec).path(
      segment.spec,
      createOverlayContext(terms, { ...underlying, shares, to: segment.to }),
    );
    level = path.growth.subarray(1).reduce((value, growth) => value * growth, level);
    return path;
  });
  return paths.reduce(joinPaths);
}

function listSegments({ sm, first, document }: OverlayOnMarket, to: number): Segment[] {
  const texts = listTextSpans(document, sm.calendar).flatMap(({ after, text }) => {
    const session = Math.max(first, findLastAtMost(sm.sessions, after));
    const { document: amended } = text;
    return session < to && isOverlayDocument(amended) ? [{ spec: amended.overlay, first: session }] : [];
  });
  const begins = [{ spec: document.overlay, first }, ...texts];
  const latestBegins = begins.filter((one, k) => k === begins.length - 1 || begins[k + 1]!.first > one.first);
  return latestBegins.map((one, k) => ({ ...one, to: latestBegins[k + 1]?.first ?? to }));
}

/**
 * Returns the weights by currency on the sessions of a segment.
 * @param first first session of the weights
 */
function sliceShares(shares: BookOverlay['shares'], segment: Segment, first: number): BookOverlay['shares'] {
  const { first: from, to } = segment;
  return Object.fromEntries(
    Object.entries(shares).map(([code, share]) => [code, share.subarray(from - first, to + 1 - first)]),
  );
}

/**
 * Joins two paths. The second path begins at the last close of the first, and its exposures apply from that close on.
 */
function joinPaths(before: OverlayPath, after: OverlayPath): OverlayPath {
  const shift = before.growth.length - 1;
  const begins = Uint8Array.from(before.growth, (_, t) => (t === shift ? 1 : 0));
  const { explain: earlier } = before;
  const { explain: later } = after;
  return {
    growth: concatenatePaths(before.growth, after.growth),
    exposures: before.exposures.map((exposure, k) => joinFloats(exposure.subarray(0, shift), after.exposures[k]!)),
    exchange: before.exchange && after.exchange && concatenatePaths(before.exchange, after.exchange),
    parts: joinParts(before, after),
    resets:
      before.resets &&
      Uint8Array.from([...before.resets.map((is, t) => is | begins[t]!), ...after.resets!.subarray(1)]),
    ...(earlier && later ? { explain: (t) => (t < shift ? earlier(t) : later(t - shift)) } : {}),
  };
}

function concatenatePaths(before: Float64Array, after: Float64Array): Float64Array {
  return joinFloats(before, after.subarray(1));
}

function joinParts(before: OverlayPath, after: OverlayPath): OverlayPart[] {
  const names = new Set([...before.parts, ...after.parts].map(({ part }) => part));
  const findContributions = ({ parts, growth }: OverlayPath, name: OverlayPart['part']): Float64Array =>
    parts.find(({ part }) => part === name)?.contributions ?? new Float64Array(growth.length);
  return [...names].map((part) => ({
    part,
    contributions: concatenatePaths(findContributions(before, part), findContributions(after, part)),
  }));
}

export interface OverlayBookInput {
  readonly compositions: Compositions & Required<Pick<Compositions, 'overlay'>>;
  /** Last session of the overlay book. */
  readonly to: number;
  /** True to compute only levels. */
  readonly isBrief: boolean;
  /** Returns the book of an underlying index. */
  readonly bookOf: (source: Compositions) => Book;
  /** Returns the price return of an underlying index, if the overlay publishes its own price return. */
  readonly priceBookOf?: (source: Compositions) => Book;
}

/**
 * Computes an overlay as a book: holdings by security after each close, return components and level.
 * @throws Refusal FX_MISSING, NO_DATA_AT_DATE, NUMERIC_FAILURE
 * @cost O(T H) in addition to the underlying books
 */
export function createOverlayBook({ compositions, to, isBrief, bookOf, priceBookOf }: OverlayBookInput): Book {
  const { overlay, sm, first: from, document } = compositions;
  const underlyingBooks = overlay.sources.map(bookOf);
  const { currency } = overlay.sources[0]!.document;
  const type = findOverlayType(overlay.spec);
  const codes = type.weighed(overlay.spec);
  // All return variants hedge with the same currency weights.
  const readCodes = (): BookOverlay['shares'] => {
    const book = codes.length > 0 && priceBookOf ? priceBookOf(overlay.sources[0]!) : underlyingBooks[0]!;
    return readShares({ book, currency, codes, first: from, to });
  };
  const shares = overlay.book?.overlay?.shares ?? readCodes();
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
  return type.converts ? undefined : readBookCurrency(underlyingBook, { currency });
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
  return { weights, cash, counts, everHeld: markEverHeld({ weights, events }, width), events };
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
