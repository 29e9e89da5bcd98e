import type { ArtifactStore } from '../port.js';
import type { StoreOwnership } from './store-ownership.js';

/** Returns true for the one process of a cluster that removes orphaned artifacts. */
export const mayRemoveOrphans = (ownership: Pick<StoreOwnership, 'isConfirmed' | 'isHolder'>): boolean =>
  ownership.isConfirmed() && ownership.isHolder();

/**
 * Wraps an artifact store so that nothing is removed until its ownership is confirmed. Otherwise a copied database
 * could remove files of its original. A later sweep of one process of the cluster removes unreferenced artifacts that
 * remain.
 */
export function createOwnedArtifacts(
  artifacts: ArtifactStore,
  ownership: Pick<StoreOwnership, 'isConfirmed' | 'isHolder'>,
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
      const isReferenced = (): boolean => mayRemoveOrphans(ownership) && (options?.isWanted?.() ?? true);
      return isReferenced() ? artifacts.sweep(referenced, { ...options, isWanted: isReferenced }) : 0;
    },
  };
}
