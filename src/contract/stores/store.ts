import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Adjustment, DeclaredCurrency, DATASET_KINDS, TableNames } from '#domain/documents/dataset-document.js';
import { DerivedActions, Mapping, MappingChange } from '#domain/documents/mapping.js';
import { Id } from '#domain/schema/shape.js';
import { ErrorDetail, Finding, skippedFields } from '../common.js';

export const Name = z.string().min(1).max(200);

const VersionsKept = z.int().min(1).max(1_000_000).nullable().meta({
  description:
    'Number of versions of the data that are kept, including the last version; null keeps all. If a stored run or a published close refers to a version, this version and all later versions are kept.',
});

export const DataStore = defineObject(() => ({
  store_id: z.string(),
  name: z.string(),
  kind: z.enum(DATASET_KINDS),
  managed: z
    .boolean()
    .meta({ description: 'True if the service created the folder. The folder is then deleted with the store.' }),
  active: z.boolean().meta({ description: 'True for the served store; at most one store is served.' }),
  status: z
    .enum(['writing', 'ready', 'loading', 'refreshing', 'error'])
    .meta({ description: '`writing`: the store is being generated and cannot be read yet.' }),
  location: z.string().nullable().meta({ description: 'Folder, or database URL with the password replaced by ***.' }),
  source: z.string().nullable().meta({ description: 'Source of a refresh.' }),
  refreshable: z.boolean().meta({ description: 'False if a refresh is refused with NOTHING_TO_REFRESH.' }),
  adjustment: Adjustment,
  currency: DeclaredCurrency,
  mapping: Mapping.nullable().meta({
    description: 'Mapping of the market; null if the tables need no mapping.',
  }),
  derived_actions: DerivedActions.nullable().meta({
    description:
      'Number of actions that were derived from adjusted closes at the last load; null without adjusted closes.',
  }),
  versions_kept: VersionsKept,
  created_at: z.string(),
  last_loaded_at: z.string().nullable(),
  last_refreshed_at: z.string().nullable(),
  identifiers: z
    .int()
    .nullable()
    .meta({ description: 'Number of distinct identifiers of the market dataset; null before the first load.' }),
  start: z.string().nullable().meta({ description: 'First date of the market.' }),
  end: z.string().nullable().meta({ description: 'Last date of the market.' }),
  size_bytes: z
    .int()
    .nullable()
    .meta({ description: 'Size of the files in bytes; null before the first load and for a database server.' }),
  content_hash: z.string().nullable().meta({
    description:
      'SHA-256 of the canonical content. It changes if and only if a value changes, regardless of the files.',
  }),
  rows: z.record(z.string(), z.int()).nullable().meta({
    description:
      'Number of rows per dataset at the last load: rows that were read, and actions that were derived from adjusted closes.',
  }),
  files: z
    .array(z.strictObject({ label: z.string(), bytes: z.int(), sha256: z.string() }))
    .optional()
    .meta({ description: 'Every file of the last load with its SHA-256. Omitted in lists.' }),
  findings: z
    .array(Finding)
    .optional()
    .meta({ description: 'Data warnings of the last load, at most 201. Omitted in lists.' }),
  taken_at_start: z
    .strictObject({
      dates_added: z.int().min(0),
      rows_added: z
        .int()
        .min(0)
        .meta({ description: 'Number of bars; 0 if the previous data is lost and the history has changed.' }),
      identifiers_added: z.int().min(0),
      findings: z.array(Finding).meta({ description: 'HISTORY_CHANGED, SPLIT_RESTATED, LATE_BARS or DATES_ADDED.' }),
    })
    .nullable()
    .meta({
      description:
        'Changes of the source that were accepted at a start. The next refresh reports them; afterwards null.',
    }),
  error: ErrorDetail.nullable().meta({ description: 'Reason for the status error.' }),
})).meta({ id: 'DataStore' });
export type DataStore = z.infer<typeof DataStore>;

export const DataStoreCollection = defineObject(() => ({
  stores: z.array(DataStore),
  active: z.string().nullable().meta({ description: 'Id of the served data store.' }),
  ...skippedFields,
})).meta({ id: 'DataStoreCollection' });
export type DataStoreCollection = z.infer<typeof DataStoreCollection>;

export const DataStoreCreate = defineObject(() => ({
  store_id: Id.optional().meta({
    description: 'Id of the store. Default: the name in lower case, with dashes for other characters.',
  }),
  name: Name,
  kind: z.enum(['folder', 'database']),
  location: z.string().min(1).max(4096).meta({
    description:
      'Absolute path of a folder, or a connection URL: sqlite:///path, duckdb:///path, postgresql://user:password@host:port/database. The operator must allow the location.',
  }),
  tables: TableNames.default({}).meta({
    description: 'File or table of a dataset, if its name differs from the name of the dataset.',
  }),
  adjustment: Adjustment.default('none'),
  currency: DeclaredCurrency.default(null),
  mapping: Mapping.nullable().default(null).meta({
    description: 'Mapping of the market, if its tables have another format. POST /data/inspect proposes a mapping.',
  }),
  activate: z.boolean().default(false).meta({ description: 'True serves the store immediately.' }),
})).meta({ id: 'DataStoreCreate' });
export type DataStoreCreate = z.infer<typeof DataStoreCreate>;

export const DataStoreUpdate = defineObject(() => ({
  name: Name.optional(),
  source: z.string().min(1).max(4096).nullable().optional().meta({ description: 'Source of a refresh.' }),
  adjustment: Adjustment.optional(),
  currency: DeclaredCurrency.optional(),
  mapping: MappingChange.nullable().optional().meta({
    description:
      'Members of the mapping that change. Null removes the mapping. The change applies the next time the source is read.',
  }),
  versions_kept: VersionsKept.optional(),
}))
  .refine((update) => Object.keys(update).length > 0, {
    params: { finding: 'REQUIRED' },
    error: 'needs at least one of name, source, adjustment, currency, mapping and versions_kept',
  })
  .meta({ id: 'DataStoreUpdate' });
export type DataStoreUpdate = z.infer<typeof DataStoreUpdate>;
