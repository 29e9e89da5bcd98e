import { systemClock } from '#jobs/clock.js';
import { createPatientDocuments } from '#jobs/patient-documents.js';
import type { DocumentStore } from '#store/port.js';
import type { Closable, Core } from './core.js';

/** Components for jobs. Their documents wait while the database is unavailable. */
export interface JobComponents extends Core {
  readonly documentsOfJobs: DocumentStore;
}

/** @param resources receives the function that stops the waiting */
export function openJobComponents(core: Core, resources: Closable[]): JobComponents {
  const { documents, settings } = core;
  // Documents in a home are always available.
  if (settings.database === undefined) return { ...core, documentsOfJobs: documents };
  let isClosed = false;
  resources.push({ close: async () => void (isClosed = true) });
  return {
    ...core,
    documentsOfJobs: createPatientDocuments({ documents, clock: systemClock, isOver: () => isClosed }),
  };
}
