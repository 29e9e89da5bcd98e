import { isDerivedDocument, isOverlayDocument, sourcesOf } from '../documents/index-document.js';
import { exchangeRates } from '../market/exchange-rates.js';
import type { MarketData, Membership } from '../market/market-data.js';
import { panelRow } from '../market/session-market.js';
import { lastAtMost } from '../numbers/search.js';
import type { Composer } from './compositions.js';

/** Spells in the universes of a market, looked for once a universe. */
export function membersIn(market: Pick<MarketData, 'universes'>): (universe: string) => readonly Membership[] {
  const memberships = new Map<string, Membership[]>();
  return (universe) => {
    let members = memberships.get(universe);
    if (!members)
      memberships.set(universe, (members = market.universes.filter((entry) => entry.universe === universe)));
    return members;
  };
}

interface UniverseInput {
  readonly indexId: string;
  readonly session: number;
}

/**
 * Columns of the universe of an index that are priceable on a session, ascending. A name that leaves at its close for want
 * of a price is not among them.
 */
export function universeOn(
  composer: Pick<Composer, 'document' | 'market' | 'treatment' | 'universe' | 'inForce'>,
  membersOf: (universe: string) => readonly Membership[],
  { indexId, session }: UniverseInput,
): Int32Array {
  const document = composer.document(indexId);
  if (isOverlayDocument(document)) {
    const day = composer.market(indexId).sessions[session]!;
    const beneath = sourcesOf(document).flatMap((id) => {
      const known = lastAtMost(composer.market(id).sessions, day);
      return known < 0 ? [] : [...composer.universe(id, known)];
    });
    return Int32Array.from(new Set(beneath)).toSorted();
  }
  const sm = composer.market(indexId);
  const day = sm.sessions[session]!;
  const staleMax = composer.treatment(indexId).max_stale_sessions;
  const candidates = new Uint8Array(sm.names);
  const add = (identifier: string): void => {
    const column = sm.columnOf(identifier);
    if (column >= 0) candidates[column] = 1;
  };
  const universe = isDerivedDocument(document)
    ? { kind: 'index' as const, id: document.derivation.source_index_id }
    : document.universe;
  switch (universe?.kind ?? 'all') {
    case 'all': {
      candidates.fill(1);
      for (const column of exchangeRates(sm, document.currency).pairColumns) candidates[column] = 0;
      break;
    }
    case 'named':
      for (const { identifier, start, end } of membersOf(universe!.id!))
        if ((start === null || start <= day) && (end === null || day < end)) add(identifier);
      break;
    case 'list':
    case 'watchlist': // whose names the plan has filled in
      for (const identifier of document.universe!.identifiers ?? []) add(identifier);
      break;
    case 'index': {
      const parentId = universe!.id!;
      const columns = composer.inForce(parentId, lastAtMost(composer.market(parentId).sessions, day))?.columns ?? [];
      for (const column of columns) candidates[column] = 1;
      break;
    }
  }
  const columns = new Int32Array(sm.names);
  let count = 0;
  const bars = panelRow(sm, session);
  for (let column = 0; column < sm.names; column++) {
    if (!candidates[column] || sm.lastBar[bars + column]! < 0 || sm.isSilent(session, column, staleMax)) continue;
    if (sm.isPriceable(session, column, staleMax)) columns[count++] = column;
  }
  return count === columns.length ? columns : columns.slice(0, count);
}
