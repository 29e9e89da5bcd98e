import type { auditRoutes } from '#contract/audit.js';
import { LOG_MEDIA } from '#contract/publication.js';
import type { Audit } from '#services/history/audit.js';
import type { Handlers } from '../handler.js';
import { logLines, logObject } from '../log-stream.js';

export function auditHandlers(audit: Audit): Handlers<typeof auditRoutes> {
  return {
    async getAudit({ query, media }) {
      const { head, batches } = await audit.read(query);
      return media === LOG_MEDIA
        ? { stream: logLines(batches), type: LOG_MEDIA }
        : {
            stream: logObject(batches, `"head":${JSON.stringify(head)},`),
            type: 'application/json; charset=utf-8',
          };
    },
  };
}
