import type { Removals } from '#http/removals.js';
import { createReportHandlers } from '#http/routes/reports.js';
import { createRenderJob } from '#services/reports/render-job.js';
import { createReports } from '#services/reports/reports.js';
import { formatTimestamp } from '#store/timestamp.js';
import { getBuildVersion } from '../version.js';
import type { JobComponents } from './documents-of-jobs.js';

/** Composes report templates and rendered reports. */
export function composeReports(core: JobComponents, removals: Removals) {
  const renderJobKind = createRenderJob({
    ...core,
    documents: core.documentsOfJobs,
    timestamp: () => formatTimestamp(core.now()),
    creator: `Divisor ${getBuildVersion()}`,
  });
  const reports = createReports({ ...core, kind: renderJobKind });
  return { reports, kinds: { render: renderJobKind }, handlers: createReportHandlers(reports, removals) };
}
