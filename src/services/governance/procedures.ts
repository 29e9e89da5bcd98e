import { ProcedureDocument } from '#domain/documents/procedure-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { readLastVersion } from '#store/history/history.js';
import { readLogHead } from '#store/publication/log.js';
import type { DocumentStore } from '#store/port.js';
import { findIndex } from '../stored/stored-indices.js';
import type { Precondition } from '../shared/preconditions.js';
import { openStoredFamily, type StoredPage, type PageQuery } from '../shared/stored-family.js';

export type Procedure = ProcedureDocument & {
  readonly procedure_id: string;
  readonly version: number;
  readonly updated_at: string;
};

export interface StoredProcedure {
  readonly procedure: Procedure;
  readonly etag: string;
}

/** Procedures of the administrator. */
export interface Procedures {
  page(query: PageQuery): Promise<StoredPage<Procedure>>;
  /** Lists the procedures that apply to an index, by id. */
  of(indexId: string): Promise<readonly Procedure[]>;
  /** Returns a procedure. @throws Refusal PROCEDURE_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(id: string): Promise<StoredProcedure>;
  /** Creates or replaces a procedure. @throws Refusal VALIDATION_FAILED, PRECONDITION_FAILED */
  put(
    id: string,
    body: ProcedureDocument,
    ifMatch: Precondition | undefined,
    by?: Authorship,
  ): Promise<StoredProcedure>;
  /** Deletes a procedure. @throws Refusal PROCEDURE_NOT_FOUND, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

export function createProcedures({ documents }: { readonly documents: DocumentStore }): Procedures {
  const family = openStoredFamily(documents, {
    kind: 'procedure',
    word: 'procedure',
    read: (body) => ProcedureDocument.safeParse(body).data,
  });

  async function get(id: string): Promise<StoredProcedure> {
    const { document, etag, updatedAt } = await family.get(id);
    const version = await readLastVersion(documents, { kind: 'procedure', id });
    return { procedure: { procedure_id: id, ...document, version, updated_at: updatedAt }, etag };
  }

  /** Returns findings about indices that do not exist. A deleted index with published closes still counts as known. */
  async function validateBody({ indices }: ProcedureDocument): Promise<Finding[]> {
    const findings: Finding[] = [];
    for (const [k, value] of (indices ?? []).entries()) {
      if ((await findIndex(documents, value)) !== undefined || (await readLogHead(documents, value)) !== undefined)
        continue;
      const message = `No index is stored under the id ${value}, and none was published under it.`;
      findings.push({ severity: 'error', code: 'UNKNOWN_INDEX', path: `indices[${k}]`, message, value });
    }
    return findings;
  }

  const readPage = (query: PageQuery) => family.page(query, async (id) => (await get(id)).procedure);
  return {
    get,
    page: readPage,
    async of(indexId) {
      const { items } = await readPage({});
      return items.filter(({ indices }) => indices === null || indices.includes(indexId));
    },
    async put(id, body, ifMatch, authorship) {
      const findings = await validateBody(body);
      if (findings.length > 0) throw refuseWithFindings('procedure', findings);
      await family.put(id, body, ifMatch, authorship);
      return get(id);
    },
    remove: family.remove,
  };
}
