import type { Removals } from '#http/removals.js';
import { reportHandlers } from '#http/routes/reports.js';
import { createRenderJob } from '#services/reports/render-job.js';
import { createReports } from '#services/reports/reports.js';
import { formatTimestamp } from '#store/timestamp.js';
import { buildVersion } from '../version.js';
import type { RoomsOfJobs } from './documents-of-jobs.js';

/** Composes report templates and rendered reports. */
export function composeReports(rooms: RoomsOfJobs, removals: Removals) {
  const render = createRenderJob({
    ...rooms,
    documents: rooms.documentsOfJobs,
    timestamp: () => formatTimestamp(rooms.now()),
    creator: `Divisor ${buildVersion()}`,
  });
  const reports = createReports({ ...rooms, kind: render });
  return { reports, kinds: { render }, handlers: reportHandlers(reports, removals) };
}
