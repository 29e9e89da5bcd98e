import { z } from 'zod';
import { defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { ClientBody, ClientDocument, DeliveryRecord, TARGET_CATALOGUE } from '#domain/definition/delivery.js';
import { listingQuery, purgeQuery, skippedFields } from './payloads.js';
import { defineDocumentRoutes } from './route.js';

const RECORDS_LISTED_MAX = 260;

export const Client = defineObject(() => ({
  ...ClientDocument.shape,
  client_id: z.string(),
  updated_at: z.string(),
  secrets: z.array(z.string()).meta({ description: 'Names of the targets with a stored secret.' }),
  problems: z.array(z.string()).meta({
    description:
      'Reasons why the service does not permit targets of the stored client. Such a client is disabled until it is stored again, or until the settings permit its targets.',
  }),
})).meta({ id: 'Client' });
export type Client = z.infer<typeof Client>;

export const ListedClient = defineObject(() => ({
  ...Client.shape,
  latest_delivery: z
    .strictObject({
      schedule_id: z.string().meta({ description: 'Schedule of the day.' }),
      date: z.string().meta({ description: 'Session.' }),
      files: z.int().min(0).meta({ description: 'Number of files of the day, counted separately for each target.' }),
      delivered: z.int().min(0).meta({ description: 'Number of delivered files.' }),
    })
    .nullable()
    .meta({ description: 'Latest session with files for the client; null if there is none.' }),
})).meta({ id: 'ListedClient' });
export type ListedClient = z.infer<typeof ListedClient>;

export const ClientCollection = defineObject(() => ({
  clients: z.array(ListedClient).meta({ description: 'Clients by id.' }),
  ...skippedFields,
})).meta({ id: 'ClientCollection' });
export type ClientCollection = z.infer<typeof ClientCollection>;

export const DeliveriesPayload = defineObject(() => ({
  deliveries: z.array(DeliveryRecord).meta({ description: 'Days, newest first.' }),
})).meta({ id: 'Deliveries' });

const params = defineObject(() => ({ client_id: Id.meta({ description: 'Id of the client.' }) }));
const targets = Object.entries(TARGET_CATALOGUE).map(
  ([type, { help, secret }]) => `- \`${type}\`: ${help}${secret === undefined ? '' : ` Its \`secret\` is ${secret}.`}`,
);

export const clientRoutes = defineDocumentRoutes('clients', {
  listClients: {
    method: 'GET',
    path: '/clients',
    scope: 'read',
    summary: 'Lists the clients that receive files.',
    query: defineObject(() => ({
      ...listingQuery.shape,
      index_id: Id.optional().meta({ description: 'Only clients with an entitlement to this index.' }),
    })),
    success: { status: 200, description: 'Clients by id.', schema: ClientCollection },
  },
  getClient: {
    method: 'GET',
    path: '/clients/{client_id}',
    call: 'clients.get',
    scope: 'read',
    summary: 'Returns one client with its entitlements and targets.',
    params,
    success: { status: 200, description: 'The client, without its secrets.', schema: Client },
    errors: ['CLIENT_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putClient: {
    method: 'PUT',
    path: '/clients/{client_id}',
    call: 'clients.put',
    scope: 'publish',
    summary: 'Creates or replaces a client with its entitlements and targets.',
    description: `The step \`deliver\` of a schedule delivers each file that an entitlement covers to every target. Secrets are never shown. They are stored encrypted if the service has a secret key. A target without \`secret\` keeps the stored secret as long as its address does not change.\n\n${targets.join('\n')}`,
    versioned: true,
    params,
    body: {
      schema: ClientBody,
      example: {
        name: 'Acme Asset Management',
        entitlements: [{ indices: ['LARGE-100'], tables: ['closing', 'report'] }],
        targets: [],
      },
    },
    success: { status: 200, description: 'The client as stored, without its secrets.', schema: Client },
    errors: ['PRECONDITION_FAILED', 'VALIDATION_FAILED'],
  },
  deleteClient: {
    method: 'DELETE',
    path: '/clients/{client_id}',
    call: 'clients.remove',
    scope: 'publish',
    summary: 'Deletes a client and its secrets. Past deliveries remain listed.',
    versioned: true,
    params,
    query: purgeQuery,
    success: { status: 204, description: 'Deleted.' },
    errors: ['CLIENT_NOT_FOUND', 'PRECONDITION_FAILED'],
  },
  listDeliveries: {
    method: 'GET',
    path: '/clients/{client_id}/deliveries',
    scope: 'read',
    summary: 'Lists the files that a client has received or will receive, by day, with the log of attempts.',
    params,
    query: defineObject(() => ({
      schedule_id: Id.optional().meta({ description: 'Only days of this schedule.' }),
      before: IsoDate.optional().meta({ description: 'Only days before this day.' }),
      limit: z.int().min(1).max(RECORDS_LISTED_MAX).default(20).meta({ description: 'Maximum number of days.' }),
    })),
    success: { status: 200, description: 'Days, newest first.', schema: DeliveriesPayload },
    errors: ['CLIENT_NOT_FOUND', 'SCHEDULE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});
