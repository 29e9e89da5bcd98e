import type { Authorship, Subject } from '#domain/documents/version-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { PurgedDocument, Versions } from '#services/history/versions.js';
import type { Principal } from './handler.js';

/** The part of a request that deletes a document which has versions. */
interface RemovalRequest {
  readonly query: { readonly purge: boolean };
  readonly principal: Principal;
  authorship(): Authorship;
}

/** Deletions of documents that have versions, with `purge` and without. */
export interface Removals {
  /**
   * How the document is to be deleted; what is gone now where it was deleted before.
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
        throw new Refusal('FORBIDDEN_SCOPE', 'The key lacks the scope admin, which purge needs.', {
          needed: 'admin',
          scopes,
        });
      return (await versions.purgeDeleted(subject, authorship())) ?? { ...authorship(), purges: true };
    },
  };
}
