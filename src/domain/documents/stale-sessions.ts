import type { MarketData } from '../market/market-data.js';
import { changeTreatment, type DatedTreatment } from './treatment.js';
import type { TreatmentSpec } from './index-document.js';

/**
 * Default number of sessions without a price after which a constituent leaves, if the store has no actions that end
 * securities.
 */
export const STALE_SESSIONS = 5;

type StaleTreatment = Pick<TreatmentSpec, 'max_stale_sessions'>;

/**
 * Returns the number of sessions without a price after which a constituent leaves. Returns Infinity if its last price
 * is used without a limit.
 */
export function countStaleSessions({ max_stale_sessions: sessions = STALE_SESSIONS }: StaleTreatment): number {
  return sessions ?? Infinity;
}

/** Returns the maximum age in sessions of a price at which a security can enter and trade. */
export function readPriceSessions(
  treatment: Pick<TreatmentSpec, 'max_stale_sessions' | 'entry_stale_sessions'>,
): number {
  return Math.min(countStaleSessions(treatment), treatment.entry_stale_sessions);
}

/** Types of actions that end a security. */
const ENDING_TYPES: ReadonlySet<string> = new Set(['DELISTING', 'ACQUISITION', 'MERGER']);

const defaultsByActions = new WeakMap<MarketData['actions'], number | null>();

/**
 * Returns the default of `max_stale_sessions` on a market. It is null, which means no limit, if the store has corporate
 * actions that end securities.
 */
export function readDefaultStaleSessions({ actions }: Pick<MarketData, 'actions'>): number | null {
  const entry = defaultsByActions.get(actions);
  if (entry !== undefined) return entry;
  const hasEndings = actions.some(({ type, status }) => ENDING_TYPES.has(type) && status !== 'cancelled');
  const sessions = hasEndings ? null : STALE_SESSIONS;
  defaultsByActions.set(actions, sessions);
  return sessions;
}

/** Returns a treatment with the defaults that depend on the corporate actions of the store. */
export function applyStoreDefaults(treatment: DatedTreatment, market: Pick<MarketData, 'actions'>): DatedTreatment {
  const isWhole = ({ max_stale_sessions: sessions }: StaleTreatment): boolean => sessions !== undefined;
  if (isWhole(treatment) && (treatment.amended ?? []).every((amendedTreatment) => isWhole(amendedTreatment.treatment)))
    return treatment;
  return changeTreatment(treatment, (one) =>
    isWhole(one) ? one : { ...one, max_stale_sessions: readDefaultStaleSessions(market) },
  );
}
