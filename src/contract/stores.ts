import { z } from 'zod';
import { FINDING_CODES } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { AssetIdentifier, defineObject, Id, IsoDate } from '#domain/base/schema.js';
import {
  AdjustmentSpec,
  DATA_SOURCES,
  DATASET_KINDS,
  DeclaredCurrency,
  GenerateSyntheticRequest,
  IMPORT_FORMATS,
  ImportHeader,
  ImportQuery,
  OVERRIDE_REASON_MAX,
  PriceOverride,
  TABLE_FORMATS,
  TABLE_KINDS,
  TableNamesSpec,
} from '#domain/definition/datasets.js';
import { DerivedActions, Mapping, MappingChange } from '#domain/definition/mapping.js';
import { DATA_WARNING_KINDS } from '#domain/market/market-data.js';
import { createJobStatus } from './jobs.js';
import { ErrorDetailPayload, FindingPayload, listingQuery, purgeQuery, skippedFields, TableFrame } from './payloads.js';
import { defineRoutes } from './route.js';

const Name = z.string().min(1).max(200);

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
  adjustment: AdjustmentSpec,
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
    .array(FindingPayload)
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
      findings: z.array(FindingPayload).meta({
        description:
          'HISTORY_CHANGED, SPLIT_RESTATED, LATE_BARS or DATES_ADDED, and the data warnings of these changes.',
      }),
    })
    .nullable()
    .meta({
      description:
        'Changes of the source that were accepted at a start. The next refresh reports them; afterwards null.',
    }),
  error: ErrorDetailPayload.nullable().meta({ description: 'Reason for the status error.' }),
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
  tables: TableNamesSpec.default({}).meta({
    description: 'File or table of a dataset, if its name differs from the name of the dataset.',
  }),
  adjustment: AdjustmentSpec.default('none'),
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
  adjustment: AdjustmentSpec.optional(),
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

const ActionRow = defineObject(() => ({
  identifier: z.string(),
  type: z.string(),
  value: z.number(),
  ex_date: z.string(),
}));
const cells = { identifier: z.string(), from: z.string(), to: z.string(), columns: z.array(z.string()) };

export const DataRepair = z
  .discriminatedUnion('kind', [
    defineObject(() => ({
      kind: z.literal('scale'),
      ...cells,
      factor: z.number(),
      inverse_columns: z.array(z.string()).optional(),
    })),
    defineObject(() => ({ kind: z.literal('remove_values'), ...cells })),
    defineObject(() => ({ kind: z.literal('insert_action'), action: ActionRow })),
    defineObject(() => ({
      kind: z.literal('replace_action'),
      action: ActionRow,
      value: z.number(),
      ex_date: z.string().optional().meta({ description: 'New day; absent if the day does not change.' }),
    })),
    defineObject(() => ({ kind: z.literal('remove_action'), action: ActionRow })),
  ])
  .meta({ id: 'DataRepair', description: 'Change of the data that resolves a data warning. Days are inclusive.' });

export const DataDoubt = defineObject(() => ({
  id: z.string().meta({
    description: 'Id of the data warning in a request for repairs. It does not change while the data is unchanged.',
  }),
  kind: z.enum(DATA_WARNING_KINDS),
  identifier: z.string(),
  date: z.string(),
  confidence: z.number().min(0).max(1),
  message: z.string(),
  evidence: z
    .record(z.string(), z.union([z.number(), z.string()]))
    .meta({ description: 'Figures on which the data warning is based.' }),
  repair: DataRepair.nullable().meta({ description: 'Repair; null if the data does not show the correct value.' }),
})).meta({ id: 'DataDoubt' });

export const DataAudit = defineObject(() => ({
  store_id: z.string(),
  content_hash: z.string().meta({ description: 'Hash of the content that was checked.' }),
  doubts: z
    .array(DataDoubt)
    .meta({ description: 'Data warnings by date and identifier; at most the 1000 with the highest confidence.' }),
  total: z.int(),
  partial_dates: z.array(FindingPayload).meta({
    description:
      'Dates on which only some securities have a bar, latest first, with their counts. Gaps of the whole market (GAP_LONG) follow, each at the date after the gap.',
  }),
})).meta({ id: 'DataAudit' });
export type DataAudit = z.infer<typeof DataAudit>;

export const RepairRequest = defineObject(() => ({
  doubts: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(1000)
    .meta({ description: 'Ids of the data warnings whose repairs are applied.' }),
  store_id: Id.optional().meta({ description: 'Id of the new store. Default: {store_id}-repaired-{n}.' }),
  name: Name.optional(),
  activate: z.boolean().default(false).meta({ description: 'True serves the new store immediately.' }),
})).meta({ id: 'RepairRequest' });
export type RepairRequest = z.infer<typeof RepairRequest>;

/** Numbers of rows that differ between two versions of the data. */
export const rowCounts = {
  rows_added: z.int().min(0).meta({ description: 'Number of new rows.' }),
  rows_changed: z.int().min(0).meta({ description: 'Number of changed rows.' }),
  rows_removed: z.int().min(0).meta({ description: 'Number of removed rows.' }),
};

export const DataVersion = defineObject(() => ({
  version: z.int().min(1).meta({ description: 'Number of the version, from 1 without gaps.' }),
  content_hash: z.string().meta({ description: 'SHA-256 of the content.' }),
  known_at: z.string().meta({ description: 'Time from which the version was served, ISO-8601 UTC with offset.' }),
  source: z.enum(DATA_SOURCES).meta({
    description:
      'Origin of the version. `reload`: the source had changed when it was read at a start or an activation.',
  }),
  ...rowCounts,
  author: z.string().meta({
    description: 'Name of the key of the request; `local` without keys, and for changes found at a start.',
  }),
  note: z.string().nullable().meta({ description: 'X-Change-Note of the request; null if there is none.' }),
  request_id: z.string().meta({ description: 'Id of the request; empty if the service acted without a request.' }),
  readable: z.boolean().meta({ description: 'True if the version can be used with `as_known_on`.' }),
})).meta({ id: 'DataVersion' });

export const DataVersionsPayload = defineObject(() => ({
  versions: z.array(DataVersion).meta({ description: 'Newest first.' }),
  total: z.int().min(0).meta({ description: 'Number of stored versions, listed or not.' }),
  ...skippedFields,
  copy: z.enum(['made', 'pending', 'missing']).nullable().meta({
    description:
      'Copy of the latest data of a folder or a database, which is used after its source has changed. `pending`: the copy is written after the response that served the data. `missing`: the data exceeds `MAX_COPIED_CONTENT_BYTES`, the disk had too little space, or the copy was interrupted. If a missing copy can be written, it is written when the store is next read. Null if the files of the service are the copy.',
  }),
})).meta({ id: 'DataVersions' });
export type DataVersionsPayload = z.infer<typeof DataVersionsPayload>;

const value = z.union([z.string(), z.number(), z.boolean()]).nullable();

export const DataCell = defineObject(() => ({
  table: z.string().meta({ description: 'Dataset of the value.' }),
  identifier: z.string(),
  date: z.string().nullable().meta({ description: 'Date of the value; null for a value that is always valid.' }),
  field: z.string().meta({ description: 'Column of the value.' }),
  before: value.meta({ description: 'Value before the change; null if there was none.' }),
  after: value.meta({ description: 'Value after the change; null if there is none.' }),
})).meta({ id: 'DataCell' });

export const AppendedBarsPayload = defineObject(() => ({
  sessions: z.int().min(1).meta({ description: 'Number of new sessions.' }),
  rows: z.int().min(0).meta({ description: 'Number of bars on these sessions, included in rows_added.' }),
  start: z.string().meta({ description: 'The first new session, YYYY-MM-DD.' }),
  end: z.string().meta({ description: 'The last new session, YYYY-MM-DD.' }),
}))
  .nullable()
  .meta({ description: 'Bars of sessions after the last session of the first version; null if there are none.' });

const DataDifferencePayload = defineObject(() => ({
  from: z.int().meta({ description: 'The earlier version.' }),
  to: z.int().meta({ description: 'The later version.' }),
  cells: z.int().min(0).meta({
    description:
      'Number of values, up to the last date of the first version, that differ or that only one version contains.',
  }),
  ...rowCounts,
  appended: AppendedBarsPayload,
  changes: z.array(DataCell).meta({
    description: 'The first of these values, by date. With `appended`, values of appended bars follow.',
  }),
  cut: z.boolean().meta({ description: 'True if `limit` omitted some of these values.' }),
})).meta({ id: 'DataDifference' });
export type DataDifferenceView = z.infer<typeof DataDifferencePayload>;

/** Errors of a request for an earlier version of the data. */
export const asKnownErrors = ['NO_DATA_KNOWN', 'VERSION_NOT_FOUND', 'DOCUMENT_UNREADABLE'] as const;

const params = defineObject(() => ({ store_id: Id.meta({ description: 'Id of the data store.' }) }));

export const dataVersionRoutes = defineRoutes('stores', {
  listDataVersions: {
    method: 'GET',
    path: '/data/stores/{store_id}/versions',
    call: 'dataVersions.list',
    scope: 'read',
    summary: 'Lists the versions of the data of a store that were served, newest first.',
    description:
      'The service keeps the changed values and, for a folder or a database, a copy of the latest data. Changes that are made while the service is stopped or serves another store are found when the store is read again. The copy is written after the response that serves the data. Until `copy` reports that the copy exists, the data is lost if the source changes while the service is stopped. A version is not readable if it was removed by `versions_kept`, or if it was too large to be copied.',
    params,
    query: defineObject(() => ({
      limit: z.int().min(1).max(1000).default(100).meta({ description: 'Maximum number of versions.' }),
      before: z.int().min(1).optional().meta({ description: 'Only versions with a smaller number.' }),
    })),
    success: { status: 200, description: 'The versions.', schema: DataVersionsPayload },
    errors: ['STORE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  diffDataVersions: {
    method: 'GET',
    path: '/data/stores/{store_id}/versions/diff',
    call: 'dataVersions.difference',
    onStore: 'path',
    scope: 'read',
    summary: 'Lists the values that differ between two versions of the data.',
    params,
    query: defineObject(() => ({
      from: z.int().min(1).meta({ description: 'First version.', example: 1 }),
      to: z.int().min(1).meta({ description: 'Second version.', example: 1 }),
      limit: z.int().min(1).max(1000).default(100).meta({ description: 'Maximum number of listed values.' }),
      appended: z.boolean().default(false).meta({ description: 'True also lists the values of appended bars.' }),
    })),
    success: { status: 200, description: 'The difference.', schema: DataDifferencePayload },
    errors: ['STORE_NOT_FOUND', 'NO_DATA_SOURCE', ...asKnownErrors],
  },
});

const ImportRequest = defineObject(() => ({
  ...ImportHeader.shape,
  content: z.string().min(1).nullable().default(null).meta({ description: 'The file in base64.' }),
  tables: z.record(z.string(), TableFrame).nullable().default(null).meta({
    description: 'Tables in the request, instead of content: market, reference, corporate_actions, universes, series.',
  }),
})).meta({ id: 'ImportRequest' });

export const ImportResult = defineObject(() => ({
  store: DataStore,
  rows: z.record(z.string(), z.int()).meta({
    description: 'Rows per dataset: rows that were read, and actions that were derived from adjusted closes.',
  }),
  identifiers: z.int(),
  start: z.string().nullable(),
  end: z.string().nullable(),
  findings: z.array(FindingPayload).meta({ description: 'Data warnings, which do not block the import.' }),
})).meta({ id: 'ImportResult' });
export type ImportResult = z.infer<typeof ImportResult>;

const LoadJobStatus = createJobStatus('LoadJobStatus', 'load', DataStore);

/** Maximum size of a file in the request, in base64 characters. A larger file must be inspected in a folder. */
const CONTENT_CHARS_MAX = 8 << 20;

const MappingAnswers = defineObject(() => ({
  ...MappingChange.shape,
  adjustment: AdjustmentSpec.optional().meta({ description: 'Price basis of CLOSE.' }),
})).meta({
  id: 'MappingAnswers',
  description: 'Known members of the mapping, and the adjustment. The inspection asks no questions about them.',
});

export const InspectRequest = defineObject(() => ({
  location: z.string().min(1).max(4096).optional().meta({
    description: 'Folder, or connection URL of a database, as for a store.',
  }),
  content: z
    .string()
    .min(1)
    .max(CONTENT_CHARS_MAX)
    .optional()
    .meta({ description: 'File in base64, instead of a location. CSV can also be sent as text.' }),
  format: z.enum(['xlsx', 'csv.zip', 'csv', 'parquet']).default('xlsx').meta({
    description: 'Format of the content, as for an import. `parquet` is one table of prices.',
  }),
  mapping: Mapping.nullable().default(null).meta({ description: 'Mapping to test, instead of a proposal.' }),
  answers: MappingAnswers.default({}).meta({
    description: 'Known answers. The inspection asks no questions about them.',
  }),
  tables: TableNamesSpec.default({}).meta({
    description: 'File or table of a dataset, if its name differs from the name of the dataset.',
  }),
}))
  .refine(({ location, content }) => (location === undefined) !== (content === undefined), {
    params: { finding: 'REQUIRED' },
    error: 'needs exactly one of location and content',
  })
  .meta({ id: 'InspectRequest' });
export type InspectRequest = z.infer<typeof InspectRequest>;

export const InspectResult = defineObject(() => ({
  files: z.int().min(0).meta({ description: 'Number of files, sheets or tables of the market.' }),
  rows_read: z.int().min(0).meta({ description: 'Number of bars read with the mapping; 0 if findings prevent it.' }),
  mapping: Mapping.meta({ description: 'Proposed mapping, in the form that a store or an import accepts.' }),
  tables: TableNamesSpec.meta({ description: 'Table of the market, if it has another name in the database.' }),
  adjustment: AdjustmentSpec,
  basis: z
    .strictObject({
      adjustment: AdjustmentSpec,
      reason: z.string().meta({ description: 'Reason for the choice.' }),
      others: z
        .array(
          z
            .strictObject({
              adjustment: AdjustmentSpec,
              meaning: z.string().meta({ description: 'Meaning of this value.' }),
            })
            .meta({ id: 'OtherAdjustment' }),
        )
        .meta({ description: 'Alternatives.' }),
    })
    .meta({ id: 'AdjustmentChoice', description: 'Proposed adjustment, and its reason.' }),
  confidence: z.enum(['sure', 'likely', 'unsure']).meta({
    description:
      '`sure`: a vendor was recognised. `likely`: the column names indicate the mapping. `unsure`: a question must be answered.',
  }),
  recognised_as: z.string().nullable().meta({ description: 'Vendor or program that writes tables in this format.' }),
  questions: z.array(z.string()).meta({ description: 'Questions that the data does not answer.' }),
  unsure: z
    .array(
      z
        .strictObject({
          field: z
            .enum(['adjustment', ...Object.keys(Mapping.shape)])
            .meta({ description: 'Field of the mapping, or the adjustment, that the answer sets.' }),
          question: z.string().meta({ description: 'Question that the data does not answer.' }),
          taken: z.string().nullable().meta({ description: 'Value that is used without an answer.' }),
          others: z.array(z.string()).meta({ description: 'Other possible values.' }),
          required: z.boolean().meta({ description: 'True if the data cannot be read without an answer.' }),
          conflicts: z
            .array(
              z.strictObject({
                identifier: z.string(),
                rows: z
                  .int()
                  .min(1)
                  .meta({ description: 'Number of rows that differ from the first row of their date.' }),
                date: z.string().meta({ description: 'Date of the first differing row.' }),
                column: z.string().meta({ description: 'Column of the first differing value.' }),
                first: z.number().nullable().meta({ description: 'Value of the first row.' }),
                other: z.number().nullable().meta({ description: 'Value of the later row.' }),
              }),
            )
            .optional()
            .meta({ description: 'For on_duplicate: securities with different rows on one date; at most 1000.' }),
        })
        .meta({ id: 'MappingQuestion' }),
    )
    .meta({ description: 'Questions as findings, each at its field.' }),
  preview: TableFrame.meta({ description: 'First bars of the first security, as read with the mapping.' }),
  findings: z.array(FindingPayload).meta({ description: 'Findings of a complete reading with the mapping.' }),
  faulty_files: z.array(z.string()).meta({
    description:
      'Names of all files, sheets or tables with errors, also of those that `findings` only counts. Empty if not all of them were examined.',
  }),
})).meta({ id: 'InspectResult' });
export type InspectResult = z.infer<typeof InspectResult>;

export const PriceOverrideRequest = defineObject(() => ({
  identifier: AssetIdentifier.meta({ description: 'Security of the store.' }),
  date: IsoDate.meta({ description: 'Session of the store.' }),
  price: z
    .number()
    .gt(0)
    .nullable()
    .meta({ description: 'CLOSE that replaces the CLOSE of the source; null withdraws the override.' }),
  reason: z
    .string()
    .min(1)
    .max(OVERRIDE_REASON_MAX)
    .meta({ description: 'Reason, including the source of the price.' }),
})).meta({ id: 'PriceOverrideRequest' });
export type PriceOverrideRequest = z.infer<typeof PriceOverrideRequest>;

export const PriceOverrides = defineObject(() => ({
  store_id: z.string(),
  overrides: z.array(PriceOverride).meta({ description: 'Overrides in force, by date and security.' }),
})).meta({ id: 'PriceOverrides' });
export type PriceOverrides = z.infer<typeof PriceOverrides>;

export const ChangedOverrides = defineObject(() => ({
  ...PriceOverrides.shape,
  job_id: z
    .string()
    .nullable()
    .meta({ description: 'Id of the refresh job that applies the change; null if the next refresh applies it.' }),
})).meta({ id: 'ChangedOverrides' });
export type ChangedOverrides = z.infer<typeof ChangedOverrides>;

export const overrideRoutes = defineRoutes('stores', {
  listPriceOverrides: {
    method: 'GET',
    path: '/data/stores/{store_id}/overrides',
    call: 'priceOverrides.list',
    scope: 'read',
    withoutMarket: true,
    summary: 'Lists the prices of a store that people have overridden.',
    params,
    success: { status: 200, description: 'The overrides.', schema: PriceOverrides },
    errors: ['STORE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  overridePrice: {
    method: 'POST',
    path: '/data/stores/{store_id}/overrides',
    scope: 'data',
    summary: 'Overrides a price of a store, or withdraws the override.',
    description:
      'The source is not changed. Every read of the store returns the price of the override until the override is withdrawn. A refresh applies the change at once, and accepts no other change of history. Each change is a version of the store. With `--approvals override=2`, a second person must approve the change. To correct an imported store, import the correct prices.',
    versioned: true,
    params,
    body: {
      schema: PriceOverrideRequest,
      example: { identifier: 'NECZ', date: '2024-12-31', price: 46.27, reason: 'Closing price of the exchange.' },
    },
    success: { status: 200, description: 'The overrides after the change.', schema: ChangedOverrides },
    errors: ['STORE_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'VALIDATION_FAILED', 'APPROVAL_REQUIRED'],
  },
});

const FindingCode = z.enum(FINDING_CODES).meta({ id: 'FindingCode', description: 'Code of a finding.' });

export const RefreshRequest = defineObject(() => ({
  until: IsoDate.nullable().default(null).meta({
    description:
      'Last date to load. Default: the latest date of the source. Later dates in the store do not change, even with `full`.',
  }),
  full: z.boolean().default(false).meta({
    description:
      'True reads every value from the source and reports restatements. By default, later bars and actions are added. If the source has changed the history of a security, its stored bars and actions do not change, unless the change is a split.',
  }),
  dry_run: z
    .boolean()
    .default(false)
    .meta({ description: 'True reports the changes of a refresh without storing or serving them.' }),
  load: z.boolean().default(false).meta({
    description:
      'True also reads a folder or a database that is not active; the store stays inactive. By default such a refresh is refused with STORE_NOT_SERVED, because an activation reads the source again. Without effect on other stores.',
  }),
  fail_on: z
    .union([FindingCode, z.array(FindingCode).max(FINDING_CODES.length)])
    .default([])
    .meta({
      description:
        'Finding codes that reject the whole refresh. The job then fails with REFRESH_REJECTED before anything is stored or served. Findings of the refresh, and new data warnings of the store, are considered.',
      example: ['PARTIAL_DATE', 'HISTORY_CHANGED'],
    }),
})).meta({ id: 'RefreshRequest' });
export type RefreshRequest = z.infer<typeof RefreshRequest>;

const refreshRowCounts = {
  added: z.int().min(0).meta({
    description:
      'Number of new rows, and of rows with a later state, such as a membership that has ended or an announced action that is paid.',
  }),
  changed: z.int().min(0).meta({ description: 'Number of rows in the store whose values have changed.' }),
  removed: z.int().min(0).meta({ description: 'Number of rows in the store that the source no longer contains.' }),
};

const scalar = z.union([z.string(), z.number(), z.boolean()]).nullable();

const Restated = defineObject(() => ({
  dataset: z.enum(TABLE_KINDS),
  identifier: z.string(),
  date: z.string().nullable(),
  column: z.string(),
  before: scalar,
  after: scalar,
}));

export const RefreshResult = defineObject(() => ({
  store_id: z.string(),
  rows_added: z.int().meta({ description: 'Number of new rows of all datasets.' }),
  rows_changed: z.int().meta({ description: 'Number of rows of all datasets that the source has changed or removed.' }),
  datasets: z
    .record(z.enum(TABLE_KINDS), z.strictObject(refreshRowCounts))
    .meta({ description: 'Accepted changes, by dataset.' }),
  dates_added: z.int(),
  identifiers_added: z.int(),
  start: z.string(),
  end: z.string(),
  restatements: z.array(Restated).meta({
    description:
      'Changed and removed values, beginning with market data, by date, identifier and column; at most 1000. The column of an action or a membership includes its type or universe: DIVIDEND.value.',
  }),
  restatements_total: z.int(),
  left_out: z
    .strictObject({
      ...refreshRowCounts,
      columns: z
        .array(z.string())
        .meta({ description: 'New columns with values on dates that the store already has.' }),
      identifiers: z.array(z.string()).meta({ description: 'New securities with bars on these dates, at most 20.' }),
      identifiers_total: z.int().min(0).meta({ description: 'Total number.' }),
    })
    .nullable()
    .meta({
      description: 'Differences of bars on dates that are already in the store; null if there are none, or with full.',
    }),
  split_restatements: z
    .array(
      z.strictObject({
        identifier: z.string(),
        ratio: z.number().meta({ description: 'Number of shares after the split per share before it.' }),
        date: z
          .string()
          .nullable()
          .meta({ description: 'First date with prices that are not divided; null if there is none yet.' }),
      }),
    )
    .meta({
      description: 'Securities with a history that was restated for a split. Their bars and actions are accepted.',
    }),
  rejected: z
    .array(
      z.strictObject({
        identifier: z.string(),
        bars: z
          .strictObject(refreshRowCounts)
          .meta({ description: 'Number of bars of the history that differ in the source.' }),
        corporate_actions: z
          .strictObject(refreshRowCounts)
          .meta({ description: 'Number of corporate actions of the history that differ in the source.' }),
        held_back: z.int().min(0).meta({ description: 'Number of later bars that are not accepted.' }),
        first: z.array(Restated).meta({ description: 'The first differences, at most 3.' }),
      }),
    )
    .meta({
      description:
        'Securities whose history has changed in the source; at most 200. Their stored bars and actions do not change, and no new ones are added.',
    }),
  rejected_total: z.int().min(0).meta({ description: 'Total number.' }),
  dry_run: z.boolean().meta({ description: 'True if nothing was stored or served.' }),
  findings: z.array(FindingPayload).meta({
    description:
      'SPLIT_RESTATED and HISTORY_CHANGED by security; HISTORY_CHANGED for other datasets; LATE_BARS; every data warning that the refresh causes, such as PRICE_JUMP; PARTIAL_DATE and GAP_LONG of the whole market also for the last dates before the refresh.',
  }),
})).meta({ id: 'RefreshResult' });

const RefreshJobStatus = createJobStatus('RefreshJobStatus', 'refresh', RefreshResult);
export const SyncJobStatus = createJobStatus('SyncJobStatus', 'sync', RefreshResult);

const GenerateJobStatus = createJobStatus('GenerateJobStatus', 'generate', DataStore);

const storeParams = defineObject(() => ({ store_id: Id.meta({ description: 'Id of the data store.' }) }));

export const storeRoutes = defineRoutes('stores', {
  listStores: {
    method: 'GET',
    path: '/data/stores',
    call: 'datasets.list',
    scope: 'read',
    summary: 'Lists all data stores, and the served store.',
    query: listingQuery,
    success: { status: 200, description: 'Stores by id.', schema: DataStoreCollection },
  },
  createStore: {
    method: 'POST',
    path: '/data/stores',
    scope: 'data',
    summary: 'Registers a folder or database. The service reads all of its data first.',
    versioned: true,
    description:
      'Files have the names market, reference, corporate_actions, universes and series with the ending .parquet, .csv, .csv.gz, .jsonl or .jsonl.gz, or are folders of such files. Only market is required. Every problem is one finding. A store with errors is not registered.',
    body: {
      schema: DataStoreCreate,
      example: { name: 'US large caps', kind: 'folder', location: '/data/us-large', activate: true },
    },
    success: {
      status: 201,
      description: 'The registered store. It is served if activate is true.',
      schema: DataStore,
    },
    errors: ['STORE_EXISTS', 'FOLDER_REGISTERED', 'STORE_LOADING', 'NOT_SUPPORTED'],
  },
  getStore: {
    method: 'GET',
    path: '/data/stores/{store_id}',
    call: 'datasets.get',
    scope: 'read',
    summary: 'Returns one data store.',
    params: storeParams,
    success: { status: 200, description: 'The store with its files and findings.', schema: DataStore },
    errors: ['STORE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  updateStore: {
    method: 'PATCH',
    path: '/data/stores/{store_id}',
    scope: 'data',
    summary: 'Renames a store, or changes its source, price basis or currency.',
    versioned: true,
    params: storeParams,
    body: { schema: DataStoreUpdate, example: { name: 'US large caps, adjusted' } },
    success: { status: 200, description: 'The store.', schema: DataStore },
    errors: [
      'STORE_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'PRECONDITION_FAILED',
      'FOLDER_REGISTERED',
      'STORE_LOADING',
      'STORE_REFRESHING',
      'NOT_SUPPORTED',
    ],
  },
  deleteStore: {
    method: 'DELETE',
    path: '/data/stores/{store_id}',
    call: 'datasets.remove',
    scope: 'data',
    summary: 'Deletes a store. The folder of a managed store is also deleted.',
    description:
      'The active store cannot be deleted, nor a store that is being read. While closes of a published log can be computed again only from the store, it is deleted only by a purge (scope admin).',
    versioned: true,
    params: storeParams,
    query: purgeQuery,
    success: { status: 204, description: 'Deleted.' },
    errors: [
      'STORE_NOT_FOUND',
      'PRECONDITION_FAILED',
      'STORE_ACTIVE',
      'STORE_PUBLISHED',
      'STORE_LOADING',
      'STORE_REFRESHING',
    ],
  },
  activateStore: {
    method: 'POST',
    path: '/data/stores/{store_id}/activate',
    scope: 'data',
    versioned: true,
    summary: 'Reads a store again and serves it.',
    description:
      'The previous store is served until the new store is read completely. A failure changes nothing. The job is load:{store_id}, and its result is a DataStore.',
    params: storeParams,
    success: { status: 202, description: 'The load job.', schema: LoadJobStatus },
    errors: ['STORE_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'STORE_ACTIVE', 'STORE_LOADING', 'STORE_REFRESHING'],
  },
  refreshStore: {
    method: 'POST',
    path: '/data/stores/{store_id}/refresh',
    scope: 'data',
    versioned: true,
    summary: 'Refreshes a store from its source.',
    description:
      'The bars and corporate actions of each security are accepted or rejected together. Later dates are added if the history is unchanged. A history that was restated for a split is accepted. Any other changed history is reported, and is accepted only with `full`. Synthetic data is extended. A folder or a database that is not active is only read with `load`. The job is refresh:{store_id}, and its result is a RefreshResult.',
    params: storeParams,
    body: { schema: RefreshRequest, optional: true, example: { full: true } },
    success: { status: 202, description: 'The refresh job.', schema: RefreshJobStatus },
    errors: [
      'STORE_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'NOTHING_TO_REFRESH',
      'STORE_NOT_SERVED',
      'STORE_LOADING',
      'STORE_REFRESHING',
    ],
  },
  syncData: {
    method: 'POST',
    path: '/data/sync',
    scope: 'data',
    versioned: true,
    summary: 'Refreshes the served store.',
    description:
      'Equivalent to a refresh of the served store. The job is sync:{store_id}, and its result is a RefreshResult.',
    body: { schema: RefreshRequest, optional: true, example: {} },
    success: { status: 202, description: 'The sync job.', schema: SyncJobStatus },
    errors: ['NO_DATA_SOURCE', 'NOTHING_TO_REFRESH', 'STORE_LOADING', 'STORE_REFRESHING'],
  },
  auditStore: {
    method: 'GET',
    path: '/data/stores/{store_id}/audit',
    scope: 'read',
    summary: 'Lists probable errors in the data of a store.',
    description:
      'The audit finds unexplained jumps, missing splits, changed units, repeated bars, stale tails, volume without a price, and dividends with the wrong size, duplicates, or dividends that adjusted prices do not show. Each data warning has its evidence and, if the data shows the correct value, a repair.',
    params: storeParams,
    success: { status: 200, description: 'The data warnings.', schema: DataAudit },
    errors: [
      'STORE_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'STORE_LOADING',
      'STORE_REFRESHING',
      'OVERLOADED',
      'NO_DATA_SOURCE',
    ],
  },
  repairStore: {
    method: 'POST',
    path: '/data/stores/{store_id}/repairs',
    scope: 'data',
    summary: 'Writes a new store with the selected repairs. The original store does not change.',
    versioned: true,
    params: storeParams,
    body: { schema: RepairRequest, example: { doubts: ['missed_split CSX 2011-06-16'] } },
    success: { status: 201, description: 'The new store.', schema: ImportResult },
    errors: [
      'STORE_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'STORE_EXISTS',
      'STORE_LOADING',
      'STORE_REFRESHING',
      'OVERLOADED',
      'NO_DATA_SOURCE',
    ],
  },
  inspectData: {
    method: 'POST',
    path: '/data/inspect',
    scope: 'data',
    summary: 'Inspects data and proposes the mapping to read it.',
    description:
      'The service recognises columns, file names, and formats of dates and numbers. It then reads all data with the mapping, including settings for duplicates and zeros. Nothing is stored.',
    body: { schema: InspectRequest, bytesMax: LIMITS.MAX_IMPORT_BYTES, example: { location: '/data/us-large' } },
    success: {
      status: 200,
      description: 'The mapping, its open questions, and the result of reading with it.',
      schema: InspectResult,
    },
    errors: ['NOT_SUPPORTED', 'OVERLOADED'],
  },
  importStore: {
    method: 'POST',
    path: '/data/import',
    scope: 'data',
    summary: 'Writes tables or an uploaded file into a new store.',
    versioned: true,
    description:
      'The body has exactly one of content and tables. Alternatively, the body is one table (a Parquet file or an Arrow stream), and the other fields are in the query. Every problem is one finding, with sheet, row and column. If a finding is an error, nothing is written.',
    query: ImportQuery,
    body: {
      schema: ImportRequest,
      bytesMax: LIMITS.MAX_IMPORT_BYTES,
      upload: { media: Object.keys(TABLE_FORMATS), bytesMax: LIMITS.MAX_IMPORT_TABLE_BYTES },
      raw: true,
      example: {
        name: 'Two names',
        tables: {
          market: {
            index: [0, 1],
            columns: ['identifier', 'date', 'CLOSE'],
            data: [
              ['A', '2024-01-02', 100],
              ['B', '2024-01-02', 50],
            ],
          },
        },
      },
    },
    success: {
      status: 201,
      description: 'The store. It is served if activate is true.',
      schema: ImportResult,
    },
    errors: ['STORE_EXISTS', 'STORE_ACTIVE', 'STORE_LOADING', 'STORE_REFRESHING', 'NOT_SUPPORTED', 'NO_DATA_SOURCE'],
  },
  getImportTemplate: {
    method: 'GET',
    path: '/data/import/template',
    scope: 'read',
    summary: 'Returns an import template with one example row per sheet.',
    query: defineObject(() => ({
      format: z.enum(IMPORT_FORMATS).optional().meta({
        description:
          'Excel workbook, or zip archive of CSV files (`csv` is an earlier name). Default: `Accept`, or the workbook.',
      }),
    })),
    success: {
      status: 200,
      description: 'The template, which can be imported unchanged.',
      media: ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'application/zip'],
    },
  },
  generateSynthetic: {
    method: 'POST',
    path: '/data/synthetic',
    scope: 'data',
    summary: 'Generates a synthetic market into a new store and serves it.',
    versioned: true,
    description:
      'A market of sectors and fat tails with listings, delistings, mergers, spin-offs, splits and dividends, and yearly accounts in the reference data (FISCAL_PERIOD_END, PUBLISHED, SALES, EARNINGS, DIVIDENDS, BOOK_VALUE, EARNINGS_YIELD, BOOK_TO_PRICE, RETURN_ON_EQUITY) that are valid from the day of publication. ' +
      'The store is listed at once with the status `writing`. It is removed if the job fails or is cancelled. The job is generate:{store_id}, and its result is a DataStore.',
    body: {
      schema: GenerateSyntheticRequest,
      optional: true,
      example: { store_id: 'market', seed: 42, assets: 150, start: '2018-01-01', end: '2024-12-31' },
    },
    success: { status: 202, description: 'The generation job.', schema: GenerateJobStatus },
    errors: ['STORE_EXISTS', 'STORE_LOADING', 'CALENDAR_NOT_COVERED', 'INVALID_RANGE'],
  },
});
