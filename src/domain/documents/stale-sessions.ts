import type { MarketData } from '../market/market-data.js';
import { changedTreatment, type DatedTreatment } from './treatment.js';
import type { TreatmentSpec } from './index-document.js';

/** Sessions without a price after which a constituent leaves, where the store says nothing of endings by actions. */
export const STALE_SESSIONS = 5;

type StaleTreatment = Pick<TreatmentSpec, 'max_stale_sessions'>;

/** Sessions without a price after which a constituent leaves; Infinity where its last price is carried on. */
export function staleSessions({ max_stale_sessions: sessions = STALE_SESSIONS }: StaleTreatment): number {
  return sessions ?? Infinity;
}

/** Sessions for which a price is one that a security can enter and be traded at. */
export function priceSessions(treatment: Pick<TreatmentSpec, 'max_stale_sessions' | 'entry_stale_sessions'>): number {
  return Math.min(staleSessions(treatment), treatment.entry_stale_sessions);
}

/** Actions that end a security. */
const ENDINGS: ReadonlySet<string> = new Set(['DELISTING', 'ACQUISITION', 'MERGER']);

const known = new WeakMap<MarketData['actions'], number | null>();

/** Longest gap on a market where a definition says nothing: a store with actions that end securities needs no other. */
export function defaultStaleSessions({ actions }: Pick<MarketData, 'actions'>): number | null {
  const found = known.get(actions);
  if (found !== undefined) return found;
  const hasEndings = actions.some(({ type, status }) => ENDINGS.has(type) && status !== 'cancelled');
  const sessions = hasEndings ? null : STALE_SESSIONS;
  known.set(actions, sessions);
  return sessions;
}

/** A treatment with the defaults that follow from the store. */
export function onStore(treatment: DatedTreatment, market: Pick<MarketData, 'actions'>): DatedTreatment {
  const isWhole = ({ max_stale_sessions: sessions }: StaleTreatment): boolean => sessions !== undefined;
  if (isWhole(treatment) && (treatment.amended ?? []).every((one) => isWhole(one.treatment))) return treatment;
  return changedTreatment(treatment, (one) =>
    isWhole(one) ? one : { ...one, max_stale_sessions: defaultStaleSessions(market) },
  );
}

/** The longest gap that any of the treatments of an index allows. */
export function longestStale({ amended = [], ...first }: DatedTreatment): number {
  return Math.max(staleSessions(first), ...amended.map(({ treatment }) => staleSessions(treatment)));
}
