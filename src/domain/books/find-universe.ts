import { readPriceSessions } from '../documents/stale-sessions.js';
import {
  isDerivedDocument,
  isOverlayDocument,
  listSources,
  SET_KINDS,
  type UniverseSpec,
} from '../documents/index-document.js';
import { createExchangeRates } from '../market/exchange-rates.js';
import type { Day } from '../time/days.js';
import type { MarketData, Membership } from '../market/market-data.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import { findLastAtMost } from '../numbers/search.js';
import type { Composer } from './compositions.js';

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
  for (let column = 0; column < sm.securityCount; column++) {
    if (!candidates[column] || sm.lastBar[bars + column]! < 0 || sm.isSilent(session, column, staleMax)) continue;
    if (sm.isPriceable(session, column, staleMax)) columns[count++] = column;
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

/** Selects the columns that can be bought on a session. */
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
