import type { StaleState } from '#clients/typescript/divisor.js';

/** Start of a reason about the data or the engine. */
const OTHER_REASON = /^The (?:store|run was made) /;

/** Reason of a run whose index has a store that does not exist. */
const MISSING_STORE_REASON = /^The store .+ of the index is not registered\.$/;

/**
 * Returns a short text about what has changed since a run, for example `calendar changed`, or the store of the run if
 * only another store is served. The page of the run has the full reasons.
 */
export function formatStale({ definition, data, engine, reasons, store_id: store }: StaleState): string {
  if (store !== null && !definition && !engine) return `ran on ${store}`;
  // A change of a calendar is a change of the definition.
  const ofDefinition = reasons.filter((reason) => !OTHER_REASON.test(reason));
  const ofCalendar = ofDefinition.filter((reason) => reason.startsWith('The calendar '));
  const isStoreMissing = reasons.some((reason) => MISSING_STORE_REASON.test(reason));
  const parts = [
    definition && ofCalendar.length > 0 && 'calendar',
    definition && (ofCalendar.length === 0 || ofCalendar.length < ofDefinition.length) && 'definition',
    data && !isStoreMissing && 'data',
    engine && 'engine',
  ].filter(Boolean);
  const changes = parts.length === 0 ? [] : [`${parts.join(', ')} changed`];
  const texts = isStoreMissing ? [...changes, 'store missing'] : changes;
  return texts.length === 0 ? 'out of date' : texts.join(', ');
}

/** Adds a mark to the name of a stale run. */
export const addStale = (name: string, stale: StaleState | null): string => (stale === null ? name : `${name} (stale)`);
