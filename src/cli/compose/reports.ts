import type { Removals } from '#http/removals.js';
import { createReportHandlers } from '#http/routes/reports.js';
import { createRenderJob } from '#services/reports/render-job.js';
import { createReports } from '#services/reports/reports.js';
import { formatTimestamp } from '#store/timestamp.js';
import { buildVersion } from '../version.js';
import type { JobComponents } from './documents-of-jobs.js';

/** Composes report templates and rendered reports. */
export function composeReports(components: JobComponents, removals: Removals) {
  const render = createRenderJob({
    ...components,
    documents: components.documentsOfJobs,
    timestamp: () => formatTimestamp(components.now()),
    creator: `Divisor ${buildVersion()}`,
  });
  const reports = createReports({ ...components, kind: render });
  return { reports, kinds: { render }, handlers: createReportHandlers(reports, removals) };
}
