import { createRemovals } from '#http/removals.js';
import { createAuditHandlers } from '#http/routes/audit.js';
import { createVersionHandlers, type VersionedServices } from '#http/routes/versions.js';
import { createAudit } from '#services/history/audit.js';
import { createSigningKeys } from '#services/stored/signing-keys.js';
import { formatTimestamp } from '#store/timestamp.js';
import { createVersions } from '#services/history/versions.js';
import type { Core } from './core.js';

/**
 * Composes the versions of documents: the deletion, which other services need, and the handlers, which are created
 * after the services that write.
 */
export function composeHistory(core: Core) {
  const versions = createVersions(core);
  const terms = { ...core, timestamp: () => formatTimestamp(core.now()) };
  return {
    removals: createRemovals(versions),
    handlers: (services: Omit<VersionedServices, 'versions'>) => ({
      ...createVersionHandlers({ ...services, versions }),
      ...createAuditHandlers(createAudit({ ...terms, signingKeys: createSigningKeys(terms) })),
    }),
  };
}
