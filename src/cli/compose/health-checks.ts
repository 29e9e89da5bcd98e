import type { Check } from '#services/operations/health.js';
import type { Store } from '#store/open-store.js';
import type { ArtifactStore } from '#store/port.js';
import { CLOCK_REFUSED_MS, CLOCK_REPORTED_MS, describeClockFault } from '#store/postgres/database-clock.js';

/** Returns the checks of the database, its clock and the results location. */
export const createStoreChecks = (store: Store): Check[] => [
  ...checkDatabaseConnection(store),
  ...checkClock(store),
  ...checkResultsLocation(store.artifacts),
];

/** Fails readiness while the database does not answer. */
function checkDatabaseConnection({ shared }: Store): Check[] {
  if (shared === undefined) return [];
  return [{ name: 'database', unready: 'STORE_UNAVAILABLE', look: shared.fault, note: () => 'The database answers.' }];
}

/** Returns a check that reports a node with a wrong clock. If the error is large, readiness fails. */
function checkClock({ shared }: Store): Check[] {
  if (shared === undefined) return [];
  const { clock } = shared;
  const createClockCheck = (limitMs: number) => () => describeClockFault(clock, limitMs);
  return [
    {
      name: 'clock',
      look: createClockCheck(CLOCK_REPORTED_MS),
      note: () => `The clock differs by ${Math.round(Math.abs(clock.offsetMs()))} ms from that of the database.`,
    },
    { name: 'clock_limit', unready: 'STORE_UNAVAILABLE', look: createClockCheck(CLOCK_REFUSED_MS) },
  ];
}

/** Checks the results location that several machines share. */
function checkResultsLocation({ health }: Pick<ArtifactStore, 'health'>): Check[] {
  if (health === undefined) return [];
  const formatNote = () => 'The results storage is available and belongs to the database.';
  return [{ name: 'artifacts', unready: 'STORE_UNAVAILABLE', look: health.fault, note: formatNote }];
}
