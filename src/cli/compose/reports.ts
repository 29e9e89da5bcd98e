import type { Removals } from '#http/removals.js';
import { reportHandlers } from '#http/routes/reports.js';
import { createRenderJob } from '#services/reports/render-job.js';
import { createReports } from '#services/reports/reports.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { Rooms } from './rooms.js';

/** Report templates and rendered reports. */
export function composeReports(rooms: Rooms, removals: Removals) {
  const render = createRenderJob({ ...rooms, timestamp: () => formatTimestamp(Date.now()) });
  const reports = createReports({ ...rooms, kind: render, now: Date.now });
  return { reports, kinds: { render }, handlers: reportHandlers(reports, removals) };
}
