import type { ArtifactStore } from '../port.js';
import type { PlaceOwnership } from './ownership.js';

/**
 * Artifacts of a place that nothing is removed from until its ownership is confirmed: the place may be that of the
 * database that this one was copied from. What stays is left to a later sweep, which one process of a cluster makes.
 */
export function ownedArtifacts(
  artifacts: ArtifactStore,
  ownership: Pick<PlaceOwnership, 'isConfirmed' | 'isHolder'>,
): ArtifactStore {
  return {
    ...artifacts,
    ...(artifacts.forRequests && { forRequests: ownedArtifacts(artifacts.forRequests, ownership) }),
    async remove(names) {
      if (ownership.isConfirmed()) await artifacts.remove(names);
    },
    async discard(names) {
      if (ownership.isConfirmed()) await artifacts.discard(names);
    },
    async sweep(referenced, options) {
      return ownership.isConfirmed() && ownership.isHolder() ? artifacts.sweep(referenced, options) : 0;
    },
  };
}
