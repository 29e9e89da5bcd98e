import { findLastAtMost } from '../base/numbers.js';
import type { Day } from '../base/time.js';
import { findTextInForce, isInAnyText } from '../definition/amendments.js';
import {
  type IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
  listSources,
  SET_KINDS,
  type UniverseSpec,
} from '../definition/index-document.js';
import { findTreatment, readPriceSessions } from '../definition/treatment.js';
import type { MarketData, Membership } from '../market/market-data.js';
import { createExchangeRates } from '../market/rates.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import { createMergerKey, type OutsideMergers } from './book.js';
import { type Composer, type Composition, findKnownSession, isReview, restoreDecided } from './compositions.js';
import { type EventTerms, listEvents } from './events.js';
import { createIndexTerms } from './index-run.js';

/**
 * Creates a function that reads the members of a market's universes, each with the days of its membership. Each
 * universe is searched once.
 */
export function createMembershipReader(
  market: Pick<MarketData, 'universes'>,
): (universe: string) => readonly Membership[] {
  const memberships = new Map<string, Membership[]>();
  return (universe) => {
    let members = memberships.get(universe);
    if (!members)
      memberships.set(universe, (members = market.universes.filter((entry) => entry.universe === universe)));
    return members;
  };
}

type UniverseComposer = Pick<Composer, 'document' | 'market' | 'treatment' | 'universe' | 'decidedOn'>;

interface UniverseInput {
  readonly indexId: string;
  readonly session: number;
}

/**
 * Returns the columns of an index universe with a price on a session, ascending. Excludes securities that leave at the
 * session's close for lack of prices.
 */
export function findUniverse(
  composer: UniverseComposer,
  membersOf: (universe: string) => readonly Membership[],
  { indexId, session }: UniverseInput,
): Int32Array {
  const document = composer.document(indexId);
  if (isOverlayDocument(document)) {
    const day = composer.market(indexId).sessions[session]!;
    const underlyingColumns = listSources(document).flatMap((id) => {
      const lastSession = findLastAtMost(composer.market(id).sessions, day);
      return lastSession < 0 ? [] : [...composer.universe(id, lastSession)];
    });
    return Int32Array.from(new Set(underlyingColumns)).toSorted();
  }
  const sm = composer.market(indexId);
  const staleMax = readPriceSessions(composer.treatment(indexId));
  const candidates = listUniverseMembers(composer, membersOf, { indexId, session });
  const columns = new Int32Array(sm.securityCount);
  let count = 0;
  const bars = readPanelRow(sm, session);
  const isMerged = sm.rows.isMerged(session);
  for (let column = 0; column < sm.securityCount; column++) {
    const bar = sm.lastBar[bars + column]!;
    if (!candidates[column] || bar < 0) continue;
    const isCurrent = bar === session && !isMerged; // a price of the session itself has no age
    if (!isCurrent && sm.isSilent(session, column, staleMax)) continue;
    if (isCurrent ? !sm.hasEnded(session, column) : sm.isPriceable(session, column, staleMax))
      columns[count++] = column;
  }
  return count === columns.length ? columns : columns.slice(0, count);
}

/** Returns, by column, 1 for the members of an index universe on a session, with or without a price. */
export function listUniverseMembers(
  composer: UniverseComposer,
  membersOf: (universe: string) => readonly Membership[],
  { indexId, session }: UniverseInput,
): Uint8Array {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  const universe: UniverseSpec = isDerivedDocument(document)
    ? { kind: 'index', id: document.derivation.source_index_id }
    : (document.universe ?? { kind: 'all' });
  const input = { composer, membersOf, sm, currency: document.currency, day: sm.sessions[session]! };
  return markMembers(input, universe);
}

export function selectPriceable(sm: SessionMarket, session: number, columns: Int32Array, staleMax: number): Int32Array {
  return columns.filter(
    (column) => !sm.isSilent(session, column, staleMax) && sm.isPriceable(session, column, staleMax),
  );
}

interface MembersInput {
  readonly composer: UniverseComposer;
  readonly membersOf: (universe: string) => readonly Membership[];
  readonly sm: SessionMarket;
  /** Currency of the index. */
  readonly currency: string;
  readonly day: Day;
}

/** Returns one number per column: 1 if the security is a member of the universe on a day, otherwise 0. */
function markMembers(input: MembersInput, universe: UniverseSpec): Uint8Array {
  const { composer, membersOf, sm, currency, day } = input;
  const members = new Uint8Array(sm.securityCount);
  const addMember = (identifier: string): void => {
    const column = sm.columnOf(identifier);
    if (column >= 0) members[column] = 1;
  };
  switch (universe.kind) {
    case 'all':
      members.fill(1);
      for (const column of createExchangeRates(sm, currency).pairColumns) members[column] = 0;
      break;
    case 'named':
      for (const { identifier, start, end } of membersOf(universe.id!))
        if ((start === null || start <= day) && (end === null || day < end)) addMember(identifier);
      break;
    case 'list':
    case 'watchlist': // the plan has replaced a watchlist by its identifiers
      for (const identifier of universe.identifiers ?? []) addMember(identifier);
      break;
    case 'index': {
      const parentId = universe.id!;
      const session = findLastAtMost(composer.market(parentId).sessions, day);
      // Two indices can begin on one day with equal notice, because decided constituents count before they take effect.
      for (const column of composer.decidedOn(parentId, session)?.columns ?? []) members[column] = 1;
      break;
    }
    case 'union':
    case 'intersection':
    case 'difference': {
      const [first, ...others] = (universe.of ?? []).map((part) => markMembers(input, part));
      return others.reduce(
        (left, right) => left.map((is, i) => MEMBERSHIP_COMBINERS[universe.kind as SetKind](is, right[i]!)),
        first!,
      );
    }
  }
  return members;
}

type SetKind = (typeof SET_KINDS)[number];

/** Combines the membership in the earlier parts of a set with the membership in the next part. */
const MEMBERSHIP_COMBINERS: Readonly<Record<SetKind, (left: number, right: number) => number>> = {
  union: (left, right) => left | right,
  intersection: (left, right) => left & right,
  difference: (left, right) => left & ~right,
};

type MergerComposer = Pick<Composer, 'document' | 'market' | 'under'>;

/**
 * Returns true if any version of an index definition removes securities that merge into securities outside the
 * universe.
 */
export const hasAcquirerRemoval = (document: IndexDocument): boolean => isInAnyText(document, isRemovingAcquirers);

const isRemovingAcquirers = ({ events }: IndexDocument): boolean => events?.acquirer === 'remove';

/**
 * Returns the mergers by which securities leave an index that does not hold acquirers from outside its universe.
 * Returns undefined if merged securities convert into the acquirer.
 * @cost one pass over the universe per session with a merger
 */
export function findOutsideMergers(composer: MergerComposer, indexId: string): OutsideMergers | undefined {
  if (!hasAcquirerRemoval(composer.document(indexId))) return undefined;
  const sm = composer.market(indexId);
  const results = new Set<number>();
  for (const { session, column, action } of sm.actions.related) {
    if (action.type !== 'MERGER' || session <= sm.first) continue;
    const merger = { session, day: sm.sessions[session]!, related: action.related! };
    if (isOutside(composer, indexId, merger)) results.add(createMergerKey(sm, session, column));
  }
  return results;
}

interface Merger {
  /** Session on which universe membership is evaluated. */
  readonly session: number;
  /** Ex-date. */
  readonly day: Day;
  /** Identifier of the acquirer. */
  readonly related: string;
}

/** Returns true if a merger removes the merged security from the index. */
export function isOutside(composer: MergerComposer, indexId: string, { session, day, related }: Merger): boolean {
  const sm = composer.market(indexId);
  const text = findTextInForce(composer.document(indexId), sm.calendar, day);
  if (!isRemovingAcquirers(text.document)) return false;
  const acquirer = sm.columnOf(related);
  return acquirer >= 0 && composer.under(indexId, text.position).members(indexId, session)[acquirer] !== 1;
}

/** Constituents with their weights. */
type Constituents = Pick<Composition, 'columns' | 'weights' | 'uncapped'>;

/**
 * Returns a composition as known on a session. Before its effective session this is the decision; prices and exits have no
 * effect on it. A constituent that has merged into another security, or changed its ticker, is replaced by that
 * security, as it is in the index.
 */
export function restoreOnSession(
  composer: Pick<Composer, 'document' | 'market' | 'treatment' | 'outsideMergers'>,
  { indexId, composition }: { readonly indexId: string; readonly composition: Composition },
  session: number,
): Composition {
  const isPending = composition.session > session;
  const restored = isPending ? { ...composition, ...restoreDecided(composition) } : composition;
  const from = isPending ? composition.decision : composition.session;
  const sm = composer.market(indexId);
  const sessions = listSessionsWithSuccessors(sm, restored.columns, { from, to: session });
  if (sessions.length === 0) return restored;
  const document = composer.document(indexId);
  const treatment = composer.treatment(indexId);
  const terms: EventTerms = {
    sm,
    treatment,
    growth: createIndexTerms({ treatment, document }, 'price'),
    rates: createExchangeRates(sm, document.currency),
    outside: composer.outsideMergers(indexId),
  };
  const successors = new Map(sessions.flatMap((one) => listSuccessors(terms, one, session)));
  return { ...restored, ...replaceConstituents(restored, successors) };
}

/**
 * Returns the incumbents of a decision: the columns of the latest composition that took effect before its session, or of
 * a later one that a review has decided already.
 * @param known compositions before the decision, ascending
 */
export function findIncumbents(
  composer: Parameters<typeof restoreOnSession>[0],
  { indexId, known }: { readonly indexId: string; readonly known: readonly Composition[] },
  session: number,
): Int32Array | null {
  const composition = known.findLast(
    (one) => one.session < session || (isReview(one) && findKnownSession(one) <= session),
  );
  return composition === undefined ? null : restoreOnSession(composer, { indexId, composition }, session).columns;
}

/** Returns the sessions after one session, up to another, with an action that may replace a constituent, ascending. */
function listSessionsWithSuccessors(
  sm: SessionMarket,
  columns: Int32Array,
  { from, to }: { readonly from: number; readonly to: number },
): number[] {
  const replacing = sm.actions.related.filter(
    ({ session, action: { type } }) =>
      session > from && session <= to && (type === 'MERGER' || type === 'TICKER_CHANGE'),
  );
  if (replacing.length === 0) return [];
  const replaced = new Set<number>(columns);
  const sessions = new Set<number>();
  for (const { session, column, action } of replacing) {
    if (!replaced.has(column)) continue;
    replaced.add(sm.columnOf(action.related!));
    sessions.add(session);
  }
  return [...sessions];
}

/** Returns the securities into which others convert by actions of one session, as known on a later session. */
function listSuccessors(terms: EventTerms, session: number, known: number): [number, number][] {
  const { sm } = terms;
  const conversions = [...(listEvents(terms, session)?.conversions ?? [])].map(([from, to]): [number, number] => [
    from,
    to,
  ]);
  const staleMax = readPriceSessions(findTreatment(terms.treatment, sm.sessions[known]!));
  for (const { session: at, column, action } of sm.actions.related) {
    const related = sm.columnOf(action.related!);
    const isRenamed = at === session && action.type === 'TICKER_CHANGE' && related >= 0 && related !== column;
    if (isRenamed && sm.hasEnded(known, column) && sm.isPriceable(known, related, staleMax))
      conversions.push([column, related]);
  }
  return conversions;
}

function replaceConstituents(
  { columns, weights, uncapped }: Pick<Composition, 'columns' | 'weights'> & Partial<Constituents>,
  successors: ReadonlyMap<number, number>,
): Partial<Constituents> & Pick<Constituents, 'columns' | 'weights'> {
  const findLastSuccessor = (column: number): number => {
    let last = column;
    for (let step = 0; step < successors.size && successors.has(last); step++) last = successors.get(last)!;
    return last;
  };
  const staying = Int32Array.from(new Set(columns.map(findLastSuccessor))).toSorted();
  const collect = (values: Float64Array): Float64Array => {
    const collected = new Float64Array(staying.length);
    columns.forEach((column, k) => (collected[staying.indexOf(findLastSuccessor(column))]! += values[k]!));
    return collected;
  };
  return {
    columns: staying,
    weights: collect(weights),
    ...(uncapped === undefined ? {} : { uncapped: collect(uncapped) }),
  };
}
