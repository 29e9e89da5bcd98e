import { systemClock } from '#jobs/clock.js';
import { patientDocuments } from '#jobs/patient-documents.js';
import type { DocumentStore } from '#store/port.js';
import type { Closable, Rooms } from './rooms.js';

/** Components with the documents for jobs, which wait while the database is unavailable. */
export interface RoomsOfJobs extends Rooms {
  readonly documentsOfJobs: DocumentStore;
}

/** @param open receives the function that ends the waiting */
export function openRoomsOfJobs(rooms: Rooms, open: Closable[]): RoomsOfJobs {
  const { documents, settings } = rooms;
  // Documents in a home are always available.
  if (settings.database === undefined) return { ...rooms, documentsOfJobs: documents };
  let isOver = false;
  open.push({ close: async () => void (isOver = true) });
  return { ...rooms, documentsOfJobs: patientDocuments({ documents, clock: systemClock, isOver: () => isOver }) };
}
