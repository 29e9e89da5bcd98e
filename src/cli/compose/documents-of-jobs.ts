import { systemClock } from '#jobs/clock.js';
import { patientDocuments } from '#jobs/patient-documents.js';
import type { DocumentStore } from '#store/port.js';
import type { Closable, Rooms } from './rooms.js';

/** The rooms with the documents that the work of jobs reads, which waits for a database that is away. */
export interface RoomsOfJobs extends Rooms {
  readonly documentsOfJobs: DocumentStore;
}

/** @param open receives what ends the waiting */
export function openRoomsOfJobs(rooms: Rooms, open: Closable[]): RoomsOfJobs {
  const { documents, settings } = rooms;
  // Documents of this machine alone are never away.
  if (settings.database === undefined) return { ...rooms, documentsOfJobs: documents };
  let isOver = false;
  open.push({ close: async () => void (isOver = true) });
  return { ...rooms, documentsOfJobs: patientDocuments({ documents, clock: systemClock, isOver: () => isOver }) };
}
