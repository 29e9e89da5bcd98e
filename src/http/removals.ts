import type { Authorship, Subject } from '#domain/documents/version-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { PurgedDocument, Versions } from '#services/history/versions.js';
import type { Principal } from './handler.js';

/** Part of a request that deletes a versioned document. */
interface RemovalRequest {
  readonly query: { readonly purge: boolean };
  readonly principal: Principal;
  authorship(): Authorship;
}

/** Deletions of versioned documents, with or without `purge`. */
export interface Removals {
  /**
   * Returns the authorship for a deletion. If the document was already deleted, returns the versions that were purged.
   * @throws Refusal FORBIDDEN_SCOPE for a purge without the scope admin
   */
  of(request: RemovalRequest, subject: Subject): Promise<Authorship | PurgedDocument>;
}

export function createRemovals(versions: Pick<Versions, 'purgeDeleted'>): Removals {
  return {
    async of({ query, principal, authorship }, subject) {
      if (!query.purge) return authorship();
      const scopes = [...principal.scopes];
      if (!scopes.includes('admin'))
        throw new Refusal('FORBIDDEN_SCOPE', 'The key lacks the scope admin, which purge requires.', {
          needed: 'admin',
          scopes,
        });
      return (await versions.purgeDeleted(subject, authorship())) ?? { ...authorship(), purges: true };
    },
  };
}
