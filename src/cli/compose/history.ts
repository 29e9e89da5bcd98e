import { createRemovals } from '#http/removals.js';
import { auditHandlers } from '#http/routes/audit.js';
import { versionHandlers, type VersionedServices } from '#http/routes/versions.js';
import { createAudit } from '#services/history/audit.js';
import { createSigningKeys } from '#services/stored/signing-keys.js';
import { formatTimestamp } from '#store/timestamp.js';
import { createVersions } from '#services/history/versions.js';
import type { Rooms } from './rooms.js';

/**
 * Composes document versions: the deletion that other services need, and the handlers once the writing services
 * exist.
 */
export function composeHistory(rooms: Rooms) {
  const versions = createVersions(rooms);
  const terms = { ...rooms, timestamp: () => formatTimestamp(rooms.now()) };
  return {
    removals: createRemovals(versions),
    handlers: (services: Omit<VersionedServices, 'versions'>) => ({
      ...versionHandlers({ ...services, versions }),
      ...auditHandlers(createAudit({ ...terms, signingKeys: createSigningKeys(terms) })),
    }),
  };
}
