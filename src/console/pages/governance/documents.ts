import type { Operations } from '#clients/typescript/divisor.js';
import type { OpenedDocument, WriteTerms } from '../../components/editor.js';
import type { Scope } from '../../state/principal.js';
import { service } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';

/** Family of documents whose forms are generated from their schemas. */
export interface Family {
  /** Kind of document, as in the families of versioned documents. */
  readonly kind: 'client' | 'procedure';
  readonly scope: Scope;
  /** Member of the form that contains the id. In a request, the id is in the address and not in the body. */
  readonly idMember: string;
  readonly schema: string;
  /** Members that list objects of different kinds, shown after the other fields. */
  readonly lists: readonly { readonly name: string; readonly what: string; readonly brief: string }[];
  readonly fresh: JsonObject;
  read(id: string, signal?: AbortSignal): Promise<OpenedDocument>;
  write(document: JsonObject, version: WriteTerms): Promise<{ readonly etag: string | null }>;
  remove(id: string): Promise<unknown>;
}

export const FAMILIES: Readonly<Record<string, Family>> = {
  clients: {
    kind: 'client',
    scope: 'publish',
    idMember: 'client_id',
    schema: 'ClientBody',
    lists: [{ name: 'targets', what: 'target', brief: 'Folders, buckets and servers that receive the files.' }],
    fresh: { client_id: '', name: '', entitlements: [], targets: [] },
    async read(id, signal) {
      const { answer, etag } = await service.value.callWithEtag('getClient', { params: { client_id: id }, signal });
      const { updated_at: _, secrets: _stored, ...document } = answer;
      return { document: document as unknown as JsonObject, etag }; // the response is plain JSON
    },
    write: ({ client_id: id, ...document }, version) =>
      service.value.callWithEtag('putClient', {
        params: { client_id: String(id) },
        // The service validates the document.
        body: { entitlements: [], ...document } as unknown as Operations['putClient']['request']['body'],
        ...version,
      }),
    remove: (id) => service.value.call('deleteClient', { params: { client_id: id } }),
  },
  procedures: {
    kind: 'procedure',
    scope: 'write',
    idMember: 'procedure_id',
    schema: 'ProcedureDocument',
    lists: [],
    fresh: { procedure_id: '', name: '', kind: 'cessation', text: '' },
    async read(id, signal) {
      const params = { procedure_id: id };
      const { answer, etag } = await service.value.callWithEtag('getProcedure', { params, signal });
      const { updated_at: _, version: _ofList, ...document } = answer;
      return { document: document as unknown as JsonObject, etag }; // the response is plain JSON
    },
    write: ({ procedure_id: id, ...document }, version) =>
      service.value.callWithEtag('putProcedure', {
        params: { procedure_id: String(id) },
        body: document as unknown as Operations['putProcedure']['request']['body'], // the service validates the document
        ...version,
      }),
    remove: (id) => service.value.call('deleteProcedure', { params: { procedure_id: id } }),
  },
};
