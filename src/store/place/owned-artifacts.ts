import type { ArtifactStore } from '../port.js';
import type { PlaceOwnership } from './ownership.js';

/**
 * Artifacts of a place from which nothing is removed until its ownership is confirmed, because the place may belong to
 * the original of a copied database. A later sweep, by one process of a cluster, removes the rest.
 */
export function createOwnedArtifacts(
  artifacts: ArtifactStore,
  ownership: Pick<PlaceOwnership, 'isConfirmed' | 'isHolder'>,
): ArtifactStore {
  return {
    ...artifacts,
    ...(artifacts.forRequests && { forRequests: createOwnedArtifacts(artifacts.forRequests, ownership) }),
    async remove(names) {
      if (ownership.isConfirmed()) await artifacts.remove(names);
    },
    async discard(names) {
      if (ownership.isConfirmed()) await artifacts.discard(names);
    },
    async sweep(referenced, options) {
      const isWanted = (): boolean =>
        ownership.isConfirmed() && ownership.isHolder() && (options?.isWanted?.() ?? true);
      return isWanted() ? artifacts.sweep(referenced, { ...options, isWanted }) : 0;
    },
  };
}
