import type { Check } from '#services/operations/health.js';
import type { Store } from '#store/open-store.js';
import type { ArtifactStore } from '#store/port.js';
import { CLOCK_REFUSED_MS, CLOCK_REPORTED_MS, clockFault } from '#store/postgres/database-clock.js';

/** The database, its clock and the place of results. */
export const checksOfStore = (store: Store): Check[] => [
  ...answeringDatabase(store),
  ...clockChecks(store),
  ...placeOfResults(store.artifacts),
];

/** The service is not ready while its database does not answer. */
function answeringDatabase({ shared }: Store): Check[] {
  if (shared === undefined) return [];
  return [{ name: 'database', unready: 'STORE_UNAVAILABLE', look: shared.fault, note: () => 'The database answers.' }];
}

/** A node whose clock is wrong is reported, and is not ready where it is very wrong. */
function clockChecks({ shared }: Store): Check[] {
  if (shared === undefined) return [];
  const { clock } = shared;
  const look = (limitMs: number) => () => clockFault(clock, limitMs);
  return [
    {
      name: 'clock',
      look: look(CLOCK_REPORTED_MS),
      note: () => `The clock differs by ${Math.round(Math.abs(clock.offsetMs()))} ms from that of the database.`,
    },
    { name: 'clock_limit', unready: 'STORE_UNAVAILABLE', look: look(CLOCK_REFUSED_MS) },
  ];
}

/** The place of the results that several machines share. */
function placeOfResults({ health }: Pick<ArtifactStore, 'health'>): Check[] {
  if (health === undefined) return [];
  const note = () => 'The place of the results is there and is that of the database.';
  return [{ name: 'artifacts', unready: 'STORE_UNAVAILABLE', look: health.fault, note }];
}
