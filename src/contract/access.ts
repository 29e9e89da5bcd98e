import { z } from 'zod';
import { defineObject, Id } from '#domain/base/schema.js';
import { OWNED_DOCUMENTS, VERSIONED_KINDS } from '#domain/definition/versions.js';
import { defineRoutes, SCOPES } from './route.js';

const SHARED_MAX = 100;
/** Maximum length of `sub:` followed by the subject of a token. */
const NAME_MAX = 259;

export const DocumentAccess = defineObject(() => ({
  owner: z
    .strictObject({
      key_id: z.string().nullable().meta({
        description: 'Id of the key, or `sub:` and the subject of the token; null without authentication.',
      }),
      name: z.string().meta({ description: 'Name of the key.' }),
    })
    .nullable()
    .meta({ description: 'Author of the first version; null if that version was purged.' }),
  shared_with: z.array(z.string()).meta({
    description:
      'Clients that can read the document although their prefixes do not include its id: ids or names of keys, or `sub:` and the subject of a token.',
  }),
})).meta({ id: 'DocumentAccess' });
export type DocumentAccess = z.infer<typeof DocumentAccess>;

const SharingRequest = defineObject(() => ({
  shared_with: z
    .array(z.string().min(1).max(NAME_MAX))
    .max(SHARED_MAX)
    .meta({
      description: 'Ids or names of keys, or `sub:` and the subject of a token. Empty: not shared.',
      example: ['reader', 'sub:ada'],
    }),
})).meta({ id: 'SharingRequest' });

const params = defineObject(() => ({
  kind: z.enum(VERSIONED_KINDS).meta({ description: 'Family of the document.', example: 'index' }),
  document_id: Id,
}));
const missingNames = OWNED_DOCUMENTS.map(({ missing }) => missing);

export const accessRoutes = defineRoutes('service', {
  getAccess: {
    method: 'GET',
    path: '/access/{kind}/{document_id}',
    scope: 'read',
    withoutMarket: true,
    summary: 'Returns the owner of a document, and the clients that can read it.',
    params,
    success: { status: 200, description: 'The owner and the clients with access.', schema: DocumentAccess },
    errors: missingNames,
  },
  putAccess: {
    method: 'PUT',
    path: '/access/{kind}/{document_id}',
    scope: 'write',
    withoutMarket: true,
    summary: 'Sets the clients that can read a document.',
    description:
      'The list replaces the previous list. Keys without prefixes can read every document. A client that can read an index can also read its runs.',
    params,
    body: { schema: SharingRequest, example: { shared_with: ['reader'] } },
    success: { status: 200, description: 'The access list as stored.', schema: DocumentAccess },
    errors: missingNames,
  },
});

export const PrincipalView = defineObject(() => ({
  key_id: z
    .string()
    .nullable()
    .meta({ description: 'Id of the key, or `sub:` and the subject of the token; null without authentication.' }),
  scopes: z.array(z.enum(SCOPES)).meta({ description: 'Permissions; admin includes all others.' }),
})).meta({ id: 'PrincipalView' });

export const principalRoutes = defineRoutes('service', {
  getPrincipal: {
    method: 'GET',
    path: '/principal',
    scope: 'read',
    summary: 'Returns the caller and the permissions of its key.',
    success: { status: 200, description: 'The key.', schema: PrincipalView },
  },
});
