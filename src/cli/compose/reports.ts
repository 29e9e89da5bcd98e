import { reportHandlers } from '#http/routes/reports.js';
import { createRenderJob } from '#services/reports/render-job.js';
import { createReports } from '#services/reports/reports.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { Rooms } from './rooms.js';

/** Report templates and rendered reports. */
export function composeReports(rooms: Rooms) {
  const render = createRenderJob({ ...rooms, timestamp: () => formatTimestamp(Date.now()) });
  return {
    kinds: { render },
    handlers: reportHandlers(createReports({ ...rooms, kind: render, now: Date.now })),
  };
}
