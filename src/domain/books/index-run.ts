import { findLastAtMost } from '../base/numbers.js';
import type { Day } from '../base/time.js';
import { type IndexDocument, isOverlayDocument, type TreatmentSpec } from '../definition/index-document.js';
import { readShareTerms } from '../definition/rule-pipeline.js';
import type { WeightingSpec } from '../definition/weighting.js';
import { createEffectTable, createGrowthTerms, type GrowthTerms, toChangingTerms } from '../market/action-effects.js';
import { cutMarket, findCarriedUnder } from '../market/growth.js';
import {
  ACTION_KINDS,
  listVariants,
  type MarketData,
  readReference,
  resolveVariant,
  type ReturnVariant,
} from '../market/market-data.js';
import { createExchangeRates } from '../market/rates.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import { alignBook } from './aligned-books.js';
import {
  type Book,
  createBookResume,
  createShareReader,
  extendStoredBook,
  type OutsideMergers,
  requireBookEnd,
  type SecurityCounts,
  type StoredBook,
  type Targets,
  toShareTime,
  toStoredBook,
} from './book.js';
import { type Composer, type Composition, type Compositions, restoreDecided } from './compositions.js';
import { createOverlayBook } from './overlay-book.js';
import type { DueRebalance, WindowCoverage } from './rebalance-dates.js';
import { createBookRounding, createShareChangeTerms, readCounts } from './state.js';
import { simulateBook } from './step.js';

/** Index simulated from its first composition to the end of the run. */
export interface IndexRun {
  readonly compositions: Compositions;
  readonly book: Book;
  readonly days: Int32Array;
  readonly coverage: WindowCoverage | null;
}

/**
 * Returns the growth terms of an index: its treatment, currency and weighting.
 * @param variant return variant. Default: that of the index.
 */
export function createIndexTerms(
  { treatment: dated, document }: Pick<Compositions, 'treatment' | 'document'>,
  variant: ReturnVariant = dated.dividends,
): GrowthTerms {
  const { amended, ...first } = dated;
  const createTerms = (treatment: TreatmentSpec, weighting: WeightingSpec | undefined): GrowthTerms => ({
    ...createGrowthTerms(treatment, document.currency, variant),
    ...readShareTerms(treatment, weighting),
  });
  const terms = createTerms(first, document.pipeline?.weighting);
  if (amended === undefined) return terms;
  // A derived index has the treatment of its parent, but a separate weighting.
  const isOwn = document.pipeline !== null;
  return {
    ...terms,
    amended: amended.map(({ after, treatment, weighting }) =>
      toChangingTerms(createTerms(treatment, isOwn ? weighting : undefined), after),
    ),
  };
}

/**
 * Returns the terms of the book whose weights an index reads for its decisions. They drift with prices, whichever return
 * variant the index names.
 */
export function createDecisionTerms(index: Pick<Compositions, 'treatment' | 'document'>): GrowthTerms {
  return createIndexTerms(index, 'price');
}

/** Returns true if each return variant has separate weights and a separate divisor. */
export function hasSeparateVariants({ treatment, document }: Pick<Compositions, 'treatment' | 'document'>): boolean {
  return !isOverlayDocument(document) && treatment.reinvestment === 'constituent';
}

interface VariantIndex extends Pick<Compositions, 'treatment' | 'document' | 'sm'> {
  readonly overlay?: { readonly sources: readonly VariantIndex[] };
  /** Underlying indices of a resumed overlay. */
  readonly beneath?: readonly VariantIndex[];
}

/**
 * Returns true if an index publishes the divisor and the weights of its price return although it names another return
 * variant.
 */
export function publishesPriceReturn(index: VariantIndex): boolean {
  const { market } = index.sm;
  const isOther = resolveVariant(market, index.treatment.dividends) !== 'price';
  return isOther && dependsOnVariant(index) && listVariants(market).includes('price');
}

/** Returns true if the weights of an index, or of an index beneath an overlay, depend on the return variant. */
function dependsOnVariant(index: VariantIndex): boolean {
  return hasSeparateVariants(index) || (index.overlay?.sources ?? index.beneath ?? []).some(dependsOnVariant);
}

export interface IndexBookInput {
  readonly compositions: Compositions;
  /** Last session of the book. */
  readonly to: number;
  /** Return variant. Default: that of the index. */
  readonly variant?: ReturnVariant;
  /** True to use the weights without caps. */
  readonly uncapped?: boolean;
  /** True to compute only levels and divisor. */
  readonly isBrief?: boolean;
  /** True to keep only some rows of weights; see `BookInput`. */
  readonly isSparse?: boolean;
  /** First session of a portfolio that follows the index. */
  readonly followedFrom?: number;
  /** Allocates memory for the weights; see `BookInput`. */
  readonly roomForWeights?: (cells: number) => Float64Array;
  readonly tick?: (fraction: number) => void;
}

/**
 * Simulates an index as a book without costs from its first composition on, starting at its base value.
 * @cost O(T H)
 */
export function simulateIndexBook(input: IndexBookInput): Book {
  const { compositions, to, variant, isBrief = false } = input;
  const { overlay } = compositions;
  if (overlay === undefined) return simulateRuleBook(input);
  const { book } = overlay;
  if (book !== undefined && variant === undefined && to === book.from + book.length - 1) return book;
  const { sm } = compositions;
  const simulateSource = (source: Compositions, heldVariant: ReturnVariant | undefined, brief = isBrief): Book => {
    const last = source.sm === sm ? to : findLastAtMost(source.sm.sessions, sm.sessions[to]!);
    const underlyingBook = simulateIndexBook({
      compositions: source,
      to: last,
      isBrief: brief,
      ...(heldVariant ? { variant: heldVariant } : {}),
    });
    return source.sm === sm ? underlyingBook : alignBook(underlyingBook, sm, { to });
  };
  return createOverlayBook({
    compositions: { ...compositions, overlay },
    to,
    isBrief,
    bookOf: (source) => simulateSource(source, variant ?? findHeldLevel(compositions, source)),
    ...(publishesPriceReturn(compositions) ? { priceBookOf: (source) => simulateSource(source, 'price', false) } : {}),
  });
}

/**
 * Returns the return variant in which an overlay holds an underlying index. Returns undefined if the index itself has
 * that variant.
 */
export function findHeldLevel(
  { treatment: { dividends } }: Pick<Compositions, 'treatment'>,
  source: Pick<Compositions, 'treatment'>,
): ReturnVariant | undefined {
  return source.treatment.dividends === dividends ? undefined : dividends;
}

function simulateRuleBook({
  compositions,
  to,
  variant,
  uncapped = false,
  isBrief = false,
  isSparse = false,
  followedFrom,
  roomForWeights,
  tick,
}: IndexBookInput): Book {
  const { sm, treatment, document, first, list, outside } = compositions;
  return simulateBook({
    title: `The index ${document.id}`,
    sm,
    treatment,
    growth: createIndexTerms(compositions, variant),
    outside,
    isBrief,
    isSparse,
    ...(followedFrom === undefined ? {} : { followedFrom }),
    from: first,
    to,
    targets: list
      .filter(({ session }) => session <= to)
      .map((composition) => createIndexTargets(composition, uncapped)),
    shareChanges: createShareChangeTerms(compositions),
    initialValue: document.base_value,
    ...createBookRounding(document, sm),
    costRate: 0,
    fills: 'all',
    ...(roomForWeights ? { roomForWeights } : {}),
    ...(tick ? { tick } : {}),
  });
}

/**
 * Returns the targets of an index book for a composition.
 * @param isUncapped true to use the weights without caps
 */
export function createIndexTargets(
  { session, columns, weights, uncapped, basket, fixedShares, counts, entered }: Composition,
  isUncapped: boolean,
): Targets {
  const optionalTargets = {
    ...(counts === undefined ? {} : { counts }),
    ...(entered === undefined ? {} : { entered }),
  };
  if (isUncapped) return { session, columns, weights: uncapped, ...optionalTargets };
  return {
    session,
    columns,
    weights,
    ...(basket === undefined ? {} : { basket }),
    ...(fixedShares === undefined ? {} : { fixedShares }),
    ...optionalTargets,
  };
}

/** Returns true if caps or a floor in a definition can change weights. */
export function isCapped({ document }: Pick<Compositions, 'document'>): boolean {
  const weighting = document.pipeline?.weighting;
  return (
    weighting !== undefined &&
    (weighting.cap !== null ||
      weighting.floor !== null ||
      weighting.group_caps.length > 0 ||
      weighting.ladder_caps !== undefined)
  );
}

/** Returns the days of a book, [T]. */
export function listBookDays({ sm, from, length }: Book): Int32Array {
  return sm.sessions.slice(from, from + length);
}

/** Returns the holdings of a book after a close, long and short: columns, ascending, and weights. */
export function listHoldings(
  { from, columns, weights }: Book,
  session: number,
): { readonly columns: Int32Array; readonly weights: Float64Array } {
  const row = (session - from) * columns.length;
  const holdings = { columns: new Int32Array(columns.length), weights: new Float64Array(columns.length) };
  let count = 0;
  for (let slot = 0; slot < columns.length; slot++) {
    const weight = weights[row + slot]!;
    if (weight === 0) continue;
    holdings.columns[count] = columns[slot]!;
    holdings.weights[count++] = weight;
  }
  return { columns: holdings.columns.slice(0, count), weights: holdings.weights.slice(0, count) };
}

/**
 * Returns the holdings of a book together with its waiting purchases, as far as its cash allows. Includes the remaining
 * cash if its exact value is known.
 */
export function findRequestedShares(book: Book, session: number): Omit<Targets, 'session'> {
  const position = session - book.from;
  const holdings = { ...listHoldings(book, session), cash: book.cash[position]! };
  const waitingOrders = book.unfilled.filter(
    (order) =>
      order.side === 'buy' &&
      order.at <= position &&
      !(isPast(order.filledAt, position) || isPast(order.replacedAt, position)),
  );
  if (waitingOrders.length === 0) return holdings;
  const toShare = ({ notional }: { readonly notional: number }): number => notional / book.value[position]!;
  const scale = Math.min(1, book.cash[position]! / waitingOrders.reduce((sum, order) => sum + toShare(order), 0));
  const weightByColumn = new Map(Array.from(holdings.columns, (column, k) => [column, holdings.weights[k]!]));
  for (const order of waitingOrders) {
    const column = book.columns[order.slot]!;
    weightByColumn.set(column, (weightByColumn.get(column) ?? 0) + scale * toShare(order));
  }
  const entries = [...weightByColumn].toSorted(([a], [b]) => a - b);
  return {
    columns: Int32Array.from(entries, ([column]) => column),
    weights: Float64Array.from(entries, ([, weight]) => weight),
  };
}

function isPast(position: number | null, current: number): boolean {
  return position !== null && position <= current;
}

/** Composition expressed in numbers of shares. */
export interface IndexShares {
  /** Reference date: selection and weighting use data up to this day. */
  readonly reference: Day;
  /** Day whose closes converted target weights into index shares. */
  readonly priced: Day;
  readonly targets: Pick<Composition, 'columns' | 'weights'>;
  /** Index shares at the effective close, [n]; null if the index has no shares. */
  readonly shares: Float64Array | null;
  /** Ratio of index shares to float-adjusted shares; 0 without a share count, [n]. */
  readonly factors: Float64Array | null;
}

export type IndexSharesReader = (composition: Composition) => IndexShares;

/**
 * Returns a function that computes the index shares of compositions. Index shares are the market value of a constituent
 * over its price, at the effective close.
 */
export function createIndexShares(book: Book, index: Pick<Compositions, 'treatment' | 'document'>): IndexSharesReader {
  const sharesByComposition = sharesCache.get(book) ?? new WeakMap<Composition, IndexShares>();
  sharesCache.set(book, sharesByComposition);
  const readShares = countShares(book, createIndexTerms(index));
  return (composition) => {
    const shares = sharesByComposition.get(composition) ?? readShares(composition);
    sharesByComposition.set(composition, shares);
    return shares;
  };
}

/** Index shares by composition of a book. They are cached, because the record and the result both use them. */
const sharesCache = new WeakMap<Book, WeakMap<Composition, IndexShares>>();

function countShares(book: Book, growth: GrowthTerms): IndexSharesReader {
  const { sm, from, value, divisor, exactDivisor, reinvested, overlay } = book;
  if (overlay !== undefined) return omitIndexShares(sm);
  const level = reinvested?.levels.price ?? value;
  const readHeld = book.shares && createShareReader(book.shares, book.columns.length);
  const table = createEffectTable(sm, growth);
  const rates = createExchangeRates(sm, growth.currency);
  const changes = listCountChanges(sm.market);
  const slotOf = new Int32Array(sm.securityCount).fill(-1);
  book.columns.forEach((column, slot) => (slotOf[column] = slot));
  return (composition) => {
    const { session, columns } = composition;
    const position = session - from;
    const decisionDates = readDecisionDates(sm, composition);
    if (position < 0 || position >= book.length) return { ...decisionDates, shares: null, factors: null };
    const held = readHeld?.(toShareTime(position, 'after'));
    const computeShares = (weight: number, k: number): number =>
      (weight * level[position]! * divisor[position]! * (exactDivisor?.[position] ?? 1)) /
      (findCarriedUnder(sm, table, session, columns[k]!) * rates.rateAt(session, columns[k]!));
    const shares = new Float64Array(columns.length);
    const factors = new Float64Array(columns.length);
    const counts = listFloatShares(sm, session, { columns, changes });
    for (let k = 0; k < columns.length; k++) {
      const slot = slotOf[columns[k]!]!;
      const heldShares = held === undefined || slot < 0 ? 0 : held[slot]!;
      shares[k] = heldShares === 0 ? computeShares(composition.weights[k]!, k) : heldShares;
      factors[k] = counts[k]! > 0 ? shares[k]! / counts[k]! : 0;
    }
    return { ...decisionDates, shares, factors };
  };
}

/**
 * Returns a function that returns compositions without index shares. It is used for a strategy that optimises or trades
 * its weights.
 */
export function omitIndexShares(sm: SessionMarket): IndexSharesReader {
  return (composition) => ({ ...readDecisionDates(sm, composition), shares: null, factors: null });
}

function readDecisionDates(
  { sessions }: SessionMarket,
  composition: Composition,
): Pick<IndexShares, 'reference' | 'priced' | 'targets'> {
  const { decision, pricing = decision } = composition;
  return { reference: sessions[decision]!, priced: sessions[pricing]!, targets: restoreDecided(composition) };
}

/** Maximum age in sessions of a share count. */
const COUNT_SESSIONS_MAX = 5;

interface CountedColumns {
  readonly columns: Int32Array;
  readonly changes: CountChanges;
}

/** Returns shares outstanding times free float, [n]. Free float is 1 by default. NaN without a share count. */
function listFloatShares(sm: SessionMarket, session: number, { columns, changes }: CountedColumns): Float64Array {
  const { fields, reference } = sm.market;
  const row = sm.rows.isMerged(session) ? -1 : sm.rows.startOf(session);
  const findLatest = (panel: Float64Array | undefined, column: number): number => {
    if (panel === undefined) return Number.NaN;
    const current = row < 0 ? Number.NaN : panel[row + column]!;
    if (current === current) return current; // no change follows a count of the session
    for (let s = session; s >= Math.max(sm.first, session - COUNT_SESSIONS_MAX); s--) {
      const value = sm.valueAt(panel, s, column);
      if (value !== value) continue;
      const own = panel === outstanding ? changes.get(sm.identifiers[column]!) : undefined;
      return own === undefined ? value : value * growCount(own, sm.rows.dayOf(panel, s, column), until);
    }
    return Number.NaN;
  };
  const until = sm.sessions[session]!;
  const outstanding = fields.get('SHARES_OUTSTANDING');
  const float = fields.get('FREE_FLOAT');
  const isStated = reference.columns.includes('FREE_FLOAT');
  const counts = new Float64Array(columns.length);
  for (let k = 0; k < columns.length; k++) {
    const column = columns[k]!;
    const latestFloat = findLatest(float, column);
    const statedFloat = isStated ? readReference(reference, sm.identifiers[column]!, 'FREE_FLOAT', until) : null;
    counts[k] =
      findLatest(outstanding, column) *
      (latestFloat === latestFloat ? latestFloat : typeof statedFloat === 'number' ? statedFloat : 1);
  }
  return counts;
}

/** Factors of splits and rights issues on share counts, by identifier, in the order of the actions. */
type CountChanges = ReadonlyMap<string, readonly { readonly day: Day; readonly factor: number }[]>;

const countChanges = new WeakMap<MarketData, CountChanges>();

/** Lists the changes of a market once. */
function listCountChanges(market: MarketData): CountChanges {
  const changes = countChanges.get(market) ?? findCountChanges(market);
  countChanges.set(market, changes);
  return changes;
}

function findCountChanges({ actions, adjustment }: MarketData): CountChanges {
  const changes = new Map<string, { readonly day: Day; readonly factor: number }[]>();
  for (const { type, identifier, exDay, status, value, subscriptionPrice } of actions) {
    const isSplit = ACTION_KINDS[type] === 'ratio' && adjustment === 'none';
    const isIssue = type === 'RIGHTS_ISSUE' && subscriptionPrice !== null && adjustment !== 'total';
    if (status === 'cancelled' || !(isSplit || isIssue)) continue;
    const own = changes.get(identifier) ?? [];
    own.push({ day: exDay, factor: isSplit ? value : 1 + value });
    changes.set(identifier, own);
  }
  return changes;
}

/** Returns the factor on the share count of a security from the day of a count to a later day. */
const growCount = (
  changes: readonly { readonly day: Day; readonly factor: number }[],
  stated: Day,
  until: Day,
): number => changes.reduce((growth, { day, factor }) => (day > stated && day <= until ? growth * factor : growth), 1);

/**
 * Returns a function that reads shares outstanding and free float of a security as known on a day. An unknown share
 * count is NaN, an unknown free float is 1.
 */
export function readSharesOutstanding(
  market: MarketData,
  day: Day,
): (identifier: string) => { readonly shares: number; readonly float: number } {
  const { fields, reference, dates, identifiers } = market;
  const last = findLastAtMost(dates, day);
  const columnByIdentifier = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const findLatest = (panel: Float64Array | undefined, column: number): number => {
    if (panel === undefined) return Number.NaN;
    for (let row = last; row >= Math.max(0, last - COUNT_SESSIONS_MAX); row--) {
      const value = panel[row * identifiers.length + column]!;
      if (value !== value) continue;
      return panel === outstanding
        ? value * growCount(changes.get(identifiers[column]!) ?? [], dates[row]!, day)
        : value;
    }
    return Number.NaN;
  };
  const changes = listCountChanges(market);
  const [outstanding, float] = [fields.get('SHARES_OUTSTANDING'), fields.get('FREE_FLOAT')];
  const isStated = reference.columns.includes('FREE_FLOAT');
  return (identifier) => {
    const column = columnByIdentifier.get(identifier);
    const shares = column === undefined ? Number.NaN : findLatest(outstanding, column);
    if (column === undefined || shares !== shares) return { shares: Number.NaN, float: Number.NaN };
    const latestFloat = findLatest(float, column);
    const statedFloat = isStated ? readReference(reference, identifier, 'FREE_FLOAT', day) : null;
    return {
      shares,
      float: latestFloat === latestFloat ? latestFloat : typeof statedFloat === 'number' ? statedFloat : 1,
    };
  };
}

export interface PendingSharesInput {
  readonly sm: SessionMarket;
  readonly document: IndexDocument;
  readonly treatment: TreatmentSpec;
  readonly outside?: OutsideMergers | undefined;
  /** Session whose closes convert target weights into index shares, and effective session of the shares. */
  readonly pricing: number;
  readonly session: number;
}

/** Pending index shares at their effective close. */
export interface PendingShares {
  /** Market columns, ascending. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
  /** Ratio of market value at the effective close to market value at the pricing close. */
  readonly growth: number;
  /** Fixed numbers of shares, [n]; absent if weights are converted. */
  readonly fixedShares?: Float64Array;
  /** Share counts that give the shares, if the index follows share counts. */
  readonly counts?: SecurityCounts;
}

/**
 * Converts target weights into index shares at the closes of the pricing session. Corporate actions up to the effective
 * close adjust the shares like index holdings. If a security leaves, the others take over its weight. A security without
 * a price up to the pricing session has its weight at the effective close.
 * @cost O((session - pricing) N)
 */
export function computePendingIndexShares(input: PendingSharesInput, targets: Omit<Targets, 'session'>): PendingShares {
  const { sm, pricing } = input;
  const row = readPanelRow(sm, pricing);
  const isNew = (column: number): boolean => sm.lastBar[row + column]! < 0;
  return targets.columns.some(isNew) ? addNewSecurities(input, targets, isNew) : convertWeights(input, targets);
}

/** Converts the weights of the securities with a price, and adds the others at the effective close. */
function addNewSecurities(
  input: PendingSharesInput,
  { columns, weights, counts }: Omit<Targets, 'session'>,
  isNew: (column: number) => boolean,
): PendingShares {
  const { sm, document, treatment, session } = input;
  const added = columns.filter(isNew);
  const isPriced = (_: number, k: number): boolean => !isNew(columns[k]!);
  const pricedSum = weights.reduce((sum, weight, k) => (isPriced(weight, k) ? sum + weight : sum), 0);
  const addedSum = weights.reduce((sum, weight, k) => (isPriced(weight, k) ? sum : sum + weight), 0);
  const priced = columns.filter(isPriced);
  const pending: PendingShares =
    priced.length === 0
      ? { columns: priced, weights: new Float64Array(0), growth: 1 }
      : convertWeights(input, {
          columns: priced,
          weights: weights.filter(isPriced).map((weight) => weight / pricedSum),
          ...(counts && {
            counts: { adopted: counts.adopted.filter(isPriced), latest: counts.latest.filter(isPriced) },
          }),
        });
  const terms = counts && createShareChangeTerms({ sm, document, treatment });
  const addedCounts = terms && readCounts(terms, session, added);
  const merged = [
    ...Array.from(pending.columns, (column, k) => ({
      column,
      weight: pending.weights[k]! * (1 - addedSum),
      adopted: pending.counts?.adopted[k] ?? Number.NaN,
      latest: pending.counts?.latest[k] ?? Number.NaN,
    })),
    ...Array.from(added, (column, k) => ({
      column,
      weight: weights[columns.indexOf(column)]!,
      adopted: addedCounts?.adopted[k] ?? Number.NaN,
      latest: addedCounts?.latest[k] ?? Number.NaN,
    })),
  ].toSorted((a, b) => a.column - b.column);
  return {
    columns: Int32Array.from(merged, ({ column }) => column),
    weights: Float64Array.from(merged, ({ weight }) => weight),
    growth: pending.growth,
    ...(counts && {
      counts: {
        adopted: Float64Array.from(merged, ({ adopted }) => adopted),
        latest: Float64Array.from(merged, ({ latest }) => latest),
      },
    }),
  };
}

function convertWeights(
  { sm, document, treatment, outside, pricing, session }: PendingSharesInput,
  targets: Omit<Targets, 'session'>,
): PendingShares {
  // Every return variant has the same composition. Only dividends that the paying constituent reinvests change shares.
  const growth = createIndexTerms(
    { treatment, document },
    treatment.reinvestment === 'constituent' ? 'total' : 'price',
  );
  const cutSessionMarket = cutMarket(sm, growth, { from: pricing, to: session });
  const book = simulateBook({
    title: `The pending composition of ${document.id}`,
    sm: cutSessionMarket,
    shareChanges: createShareChangeTerms({ sm: cutSessionMarket, document, treatment }),
    // Missing price bars do not stop this computation. The index that uses the shares either waits for a price bar or
    // fails.
    treatment: { ...treatment, stale_targets: 'carry', missing_prices: 'carry' },
    growth,
    outside,
    from: pricing,
    to: session,
    targets: [{ ...targets, session: pricing }],
    initialValue: 1,
    costRate: 0,
    fills: 'all',
    isBrief: true,
  });
  const { held, weights, units, value, divisor, counts, levels } = requireBookEnd(book);
  return {
    columns: held,
    weights,
    growth: (value * divisor) / book.divisor[0]!,
    ...(targets.fixedShares === undefined || levels === null ? {} : { fixedShares: units }),
    ...(counts === undefined ? {} : { counts }),
  };
}

/** Index whose rebalances depend on its book between scheduled decisions. */
export interface WatchInput {
  readonly indexId: string;
  /** Scheduled rebalances, ascending, the first on session `first`. */
  readonly due: readonly DueRebalance[];
  readonly first: number;
  readonly last: number;
  readonly tick?: ((fraction: number) => void) | undefined;
}

/** Range of sessions over which a book is simulated. */
interface BookSpan extends Pick<WatchInput, 'indexId' | 'first'> {
  /** State of the book at the close of session `at`; null before the first session. */
  readonly stored: StoredBook | null;
  readonly at: number;
  readonly to: number;
  readonly known: readonly Composition[];
  /** True to use the weights without caps. */
  readonly isUncapped?: boolean;
}

/**
 * Simulates an index book from one close to a later one, with the compositions known so far.
 * @cost O((to - at) H)
 */
export function simulateBookUntil(
  composer: Composer,
  { indexId, first, stored, at, to, known, isUncapped = false }: BookSpan,
): Book {
  const document = composer.document(indexId);
  const treatment = composer.treatment(indexId);
  const sm = composer.market(indexId);
  return simulateBook({
    title: `The index ${indexId}`,
    sm,
    treatment,
    outside: composer.outsideMergers(indexId),
    shareChanges: createShareChangeTerms({ sm, document, treatment }),
    growth: createDecisionTerms({ treatment, document }),
    from: stored === null ? first : at,
    to,
    targets: known
      .filter(({ session }) => (stored === null || session > at) && session <= to)
      .map((composition) => createIndexTargets(composition, isUncapped)),
    initialValue: document.base_value,
    ...createBookRounding(document, sm),
    costRate: 0,
    fills: 'all',
    ...(stored === null ? {} : { resume: createBookResume(stored, at) }),
  });
}

/** Returns the stored state after the sessions simulated last. */
export const updateStoredBook = (before: StoredBook | null, book: Book): StoredBook =>
  before === null ? toStoredBook(book) : extendStoredBook(before, book);
