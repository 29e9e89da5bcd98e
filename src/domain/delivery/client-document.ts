import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { Id, IsoDate } from '../schema/shape.js';
import { FileTables } from './target-kind.js';
import { Target } from './target-catalogue.js';

const ENTITLEMENTS_MAX = 100;
const ENTITLED_MAX = 1000;
const TARGETS_MAX = 20;

/** Files that a client may receive, with the first and last session. */
export const Entitlement = defineObject(() => ({
  indices: z
    .array(Id)
    .min(1)
    .max(ENTITLED_MAX)
    .nullable()
    .default(null)
    .meta({ description: 'Indices of the files. Default: every index.', example: ['LARGE-100'] }),
  tables: FileTables.meta({ description: 'Tables of the files. `report` is a rendered report. Default: every file.' }),
  starts_on: IsoDate.nullable().default(null).meta({ description: 'First session of the files. Default: no limit.' }),
  ends_on: IsoDate.nullable().default(null).meta({ description: 'Last session of the files. Default: no limit.' }),
})).meta({ id: 'Entitlement' });
export type Entitlement = z.infer<typeof Entitlement>;

/** Client as written by a client of the API. */
export const ClientBody = defineObject(() => ({
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable().default(null),
  enabled: z.boolean().default(true).meta({ description: 'True if files are delivered.' }),
  entitlements: z.array(Entitlement).max(ENTITLEMENTS_MAX).meta({
    description:
      'Files that the client can receive. A file must be covered by one entry. An empty list covers no files.',
  }),
  targets: z.array(Target).max(TARGETS_MAX).default([]).meta({ description: 'Targets to which files are delivered.' }),
})).meta({ id: 'ClientBody' });
export type ClientBody = z.infer<typeof ClientBody>;

/** Client as stored, without its secrets, which are separate documents. */
export const ClientDocument = ClientBody.meta({ id: 'ClientDocument' });
export type ClientDocument = z.infer<typeof ClientDocument>;

/** Encrypted secrets of a client, by target. Each secret is valid for only one address. */
export const ClientSecrets = defineObject(() => ({
  client_id: z.string(),
  secrets: z.record(z.string(), z.strictObject({ owner: z.string(), sealed: z.string() })),
}));
export type ClientSecrets = z.infer<typeof ClientSecrets>;

/** File of a day, with the properties by which a client may receive it. */
export interface EntitledFile {
  readonly index: string;
  readonly table: string;
  /** Session of the file. */
  readonly date: string;
}

const isIncluded = (list: readonly string[] | null, value: string): boolean => list === null || list.includes(value);

/** Returns true if a client may receive a file. */
export const isEntitled = (
  { entitlements }: Pick<ClientDocument, 'entitlements'>,
  { index, table, date }: EntitledFile,
): boolean =>
  entitlements.some(
    ({ indices, tables, starts_on: start, ends_on: end }) =>
      isIncluded(indices, index) &&
      isIncluded(tables, table) &&
      (start === null || start <= date) &&
      (end === null || date <= end),
  );

/** Returns a client without its secrets. */
export const removeSecrets = (client: ClientBody): ClientDocument => ({
  ...client,
  targets: client.targets.map((target) => ('secret' in target ? { ...target, secret: null } : target)),
});
