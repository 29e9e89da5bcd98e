import type { auditRoutes } from '#contract/audit.js';
import { LOG_MEDIA } from '#contract/media-formats.js';
import type { Audit, AuditReading } from '#services/history/audit.js';
import type { Handlers } from '../handler.js';
import { streamLogLines, streamLogObject } from '../log-stream.js';

export function createAuditHandlers(audit: Audit): Handlers<typeof auditRoutes> {
  return {
    async getAudit({ query, media }) {
      const { head, batches, seals, keys, left, isWhole } = await audit.read(query);
      return media === LOG_MEDIA
        ? { stream: streamLogLines(isWhole ? addSeals(batches, seals) : batches), type: LOG_MEDIA }
        : {
            stream: streamLogObject(batches, `${JSON.stringify({ head, seals, keys, ...left }).slice(1, -1)},`),
            type: 'application/json; charset=utf-8',
          };
    },
  };
}

/** Yields the entries of a log and then its signatures. */
async function* addSeals(batches: AuditReading['batches'], seals: AuditReading['seals']): AsyncGenerator<object[]> {
  for await (const batch of batches) yield [...batch];
  yield seals.map((seal) => ({ seal }));
}
