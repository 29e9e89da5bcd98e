import { z } from 'zod';
import { ImportHeader } from '#domain/documents/import-request.js';
import {
  Adjustment,
  DeclaredCurrency,
  STORE_DATASETS,
  STORE_KINDS,
  TableNames,
} from '#domain/documents/store-document.js';
import { LIMITS } from '#domain/limits.js';
import { CurrencyCode, Id, IsoDate } from '#domain/shape.js';
import { DOUBT_KINDS } from '#domain/market/doubt-kinds.js';
import { ErrorDetail, Finding, listingQuery, skippedFields, TableFrame } from './common.js';
import { jobStatus } from './jobs.js';
import { routes } from './route.js';

const Name = z.string().min(1).max(200);

export const DataStore = z
  .strictObject({
    store_id: z.string(),
    name: z.string(),
    kind: z.enum(STORE_KINDS),
    managed: z.boolean().meta({ description: 'The engine created the folder and deletes it with the store.' }),
    active: z.boolean().meta({ description: 'The store being served; at most one.' }),
    status: z
      .enum(['writing', 'ready', 'loading', 'refreshing', 'error'])
      .meta({ description: 'writing: being generated, not readable yet.' }),
    location: z.string().nullable().meta({ description: 'Folder, or database URL with the password replaced by ***.' }),
    source: z.string().nullable().meta({ description: 'Where a refresh takes data from.' }),
    refreshable: z.boolean().meta({ description: 'False exactly when a refresh is refused with NOTHING_TO_REFRESH.' }),
    adjustment: Adjustment,
    currency: DeclaredCurrency,
    created_at: z.string(),
    last_loaded_at: z.string().nullable(),
    last_refreshed_at: z.string().nullable(),
    identifiers: z
      .int()
      .nullable()
      .meta({ description: 'Distinct identifiers of the market dataset; null before the first load.' }),
    start: z.string().nullable().meta({ description: 'First market date held.' }),
    end: z.string().nullable().meta({ description: 'Last market date held.' }),
    size_bytes: z
      .int()
      .nullable()
      .meta({ description: 'Bytes of its files; null before the first load and for a database server.' }),
    content_hash: z.string().nullable().meta({
      description: 'SHA-256 over the canonical content: changes exactly when a value changes, whatever the files.',
    }),
    rows: z.record(z.string(), z.int()).nullable().meta({ description: 'Rows read per dataset at the last load.' }),
    files: z
      .array(z.strictObject({ label: z.string(), bytes: z.int(), sha256: z.string() }))
      .optional()
      .meta({ description: 'Every file of the last load with its SHA-256; left out of listings.' }),
    findings: z
      .array(Finding)
      .optional()
      .meta({ description: 'Doubts about the data at the last load, at most 201; left out of listings.' }),
    error: ErrorDetail.nullable().meta({ description: 'Why the status is error.' }),
  })
  .meta({ id: 'DataStore' });
export type DataStore = z.infer<typeof DataStore>;

export const DataStoreCollection = z
  .strictObject({
    stores: z.array(DataStore),
    active: z.string().nullable().meta({ description: 'Id of the store being served.' }),
    ...skippedFields,
  })
  .meta({ id: 'DataStoreCollection' });
export type DataStoreCollection = z.infer<typeof DataStoreCollection>;

export const DataStoreCreate = z
  .strictObject({
    store_id: Id.optional().meta({ description: 'Default: the name in lower case, other characters as dashes.' }),
    name: Name,
    kind: z.enum(['folder', 'database']),
    location: z.string().min(1).max(4096).meta({
      description:
        'Absolute path of a folder, or a connection URL: sqlite:///path, duckdb:///path, postgresql://user:password@host:port/database. It must lie where the operator allows.',
    }),
    tables: TableNames.default({}).meta({ description: 'File or table of a dataset that is not called like it.' }),
    adjustment: Adjustment.default('none'),
    currency: DeclaredCurrency.default(null),
    activate: z.boolean().default(false).meta({ description: 'Serve the store at once.' }),
  })
  .meta({ id: 'DataStoreCreate' });
export type DataStoreCreate = z.infer<typeof DataStoreCreate>;

export const DataStoreUpdate = z
  .strictObject({
    name: Name.optional(),
    source: z.string().min(1).max(4096).nullable().optional().meta({ description: 'Where a refresh takes data from.' }),
    adjustment: Adjustment.optional(),
    currency: DeclaredCurrency.optional(),
  })
  .refine((update) => Object.keys(update).length > 0, {
    params: { finding: 'REQUIRED' },
    error: 'needs at least one of name, source, adjustment and currency',
  })
  .meta({ id: 'DataStoreUpdate' });
export type DataStoreUpdate = z.infer<typeof DataStoreUpdate>;

export const RefreshRequest = z
  .strictObject({
    until: IsoDate.nullable().default(null).meta({
      description:
        'Last date to bring in; default the latest there is. Later dates that are held stay as they are, also with full.',
    }),
    full: z.boolean().default(false).meta({
      description:
        'Take every value from the source and report what was restated; otherwise only later dates are added, and other history of the source is left out and reported.',
    }),
  })
  .meta({ id: 'RefreshRequest' });
export type RefreshRequest = z.infer<typeof RefreshRequest>;

export const ImportRequest = ImportHeader.extend({
  content: z.string().min(1).nullable().default(null).meta({ description: 'The file in base64.' }),
  tables: z.record(z.string(), TableFrame).nullable().default(null).meta({
    description: 'Inline tables instead of content: market, reference, corporate_actions, universes, series.',
  }),
}).meta({ id: 'ImportRequest' });

export const ImportResult = z
  .strictObject({
    store: DataStore,
    rows: z.record(z.string(), z.int()).meta({ description: 'Rows read per dataset.' }),
    identifiers: z.int(),
    start: z.string().nullable(),
    end: z.string().nullable(),
    findings: z.array(Finding).meta({ description: 'Doubts that did not refuse the import.' }),
  })
  .meta({ id: 'ImportResult' });
export type ImportResult = z.infer<typeof ImportResult>;

export const GenerateSyntheticRequest = z
  .strictObject({
    store_id: Id.optional().meta({ description: 'Default synthetic-{seed}-{n}.' }),
    name: Name.optional(),
    seed: z
      .int()
      .min(0)
      .max(2 ** 32 - 1)
      .default(42)
      .meta({ description: 'Same request, same content, on every platform.' }),
    assets: z
      .int()
      .min(1)
      .max(5000)
      .default(50)
      .meta({ description: 'Names alive at the start; later listings come on top.' }),
    start: IsoDate.default('2015-01-01'),
    end: IsoDate.optional().meta({ description: 'Default: the end of the last complete calendar year.' }),
    calendar: z.string().min(1).default('XNYS').meta({ description: 'Exchange MIC from /indices/calendars.' }),
    currency: CurrencyCode.default('USD'),
    sectors: z.int().min(1).max(11).default(8),
    market_return: z
      .number()
      .min(-0.5)
      .max(1)
      .default(0.07)
      .meta({ description: 'Expected return of the market a year.' }),
    market_volatility: z.number().min(0).max(2).default(0.16),
    specific_volatility: z.number().min(0).max(2).default(0.25),
    dividend_yield: z.number().min(0).max(0.5).default(0.02).meta({ description: 'Paid quarterly.' }),
    splits_per_year: z.number().min(0).max(5).default(0.03).meta({ description: 'Per asset.' }),
    delistings_per_year: z.number().min(0).max(1).default(0.01).meta({ description: 'Per asset.' }),
    listings_per_year: z.number().min(0).max(1).default(0.01).meta({ description: 'Per asset.' }),
    missing_rate: z.number().min(0).max(0.9).default(0).meta({ description: 'Fraction of bars removed.' }),
    activate: z.boolean().default(true).meta({ description: 'Serve the store once it is complete.' }),
  })
  .meta({ id: 'GenerateSyntheticRequest' });
export type GenerateSyntheticRequest = z.infer<typeof GenerateSyntheticRequest>;

export const LoadJobStatus = jobStatus('LoadJobStatus', 'load', DataStore);
export const GenerateJobStatus = jobStatus('GenerateJobStatus', 'generate', DataStore);

const rowCounts = {
  added: z.int().min(0).meta({
    description:
      'New rows, and rows with a later state: an open membership that has ended, an announced action that is paid.',
  }),
  changed: z.int().min(0).meta({ description: 'Rows held whose values are others now.' }),
  removed: z.int().min(0).meta({ description: 'Rows held that the source has no more.' }),
};

const scalar = z.union([z.string(), z.number(), z.boolean()]).nullable();

export const RefreshResult = z
  .strictObject({
    store_id: z.string(),
    rows_added: z.int().meta({ description: 'Rows of all datasets that were not held.' }),
    rows_changed: z
      .int()
      .meta({ description: 'Rows of all datasets that were held and that the source has changed or removed.' }),
    datasets: z
      .record(z.enum(STORE_DATASETS), z.strictObject(rowCounts))
      .meta({ description: 'What was taken, by dataset.' }),
    dates_added: z.int(),
    identifiers_added: z.int(),
    start: z.string(),
    end: z.string(),
    restatements: z
      .array(
        z.strictObject({
          dataset: z.enum(STORE_DATASETS),
          identifier: z.string(),
          date: z.string().nullable(),
          column: z.string(),
          before: scalar,
          after: scalar,
        }),
      )
      .meta({
        description:
          'Changed and removed values, market data first, by date, identifier and column; at most 1000. A column of an action or a membership includes its type or universe: DIVIDEND.value.',
      }),
    restatements_total: z.int(),
    left_out: z
      .strictObject({
        ...rowCounts,
        columns: z
          .array(z.string())
          .meta({ description: 'Columns with values of dates that are held, which are not held themselves.' }),
        identifiers: z
          .array(z.string())
          .meta({ description: 'Names with bars of those dates that are not held, at most 20.' }),
        identifiers_total: z.int().min(0).meta({ description: 'All of them.' }),
      })
      .nullable()
      .meta({
        description:
          'Bars of dates that are held, as the source has them and the store has not; null when there is no difference, or with full.',
      }),
    findings: z
      .array(Finding)
      .meta({ description: 'HISTORY_CHANGED, one for each dataset concerned, with what to do.' }),
  })
  .meta({ id: 'RefreshResult' });

export const RefreshJobStatus = jobStatus('RefreshJobStatus', 'refresh', RefreshResult);
export const SyncJobStatus = jobStatus('SyncJobStatus', 'sync', RefreshResult);

const ActionRow = z.strictObject({ identifier: z.string(), type: z.string(), value: z.number(), ex_date: z.string() });
const cells = { identifier: z.string(), from: z.string(), to: z.string(), columns: z.array(z.string()) };

export const DataRepair = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('scale'),
      ...cells,
      factor: z.number(),
      inverse_columns: z.array(z.string()).optional(),
    }),
    z.strictObject({ kind: z.literal('remove_values'), ...cells }),
    z.strictObject({ kind: z.literal('insert_action'), action: ActionRow }),
    z.strictObject({ kind: z.literal('replace_action'), action: ActionRow, value: z.number() }),
    z.strictObject({ kind: z.literal('remove_action'), action: ActionRow }),
  ])
  .meta({ id: 'DataRepair', description: 'A change that would settle a doubt; days are inclusive.' });

export const DataDoubt = z
  .strictObject({
    id: z.string().meta({ description: 'Names the doubt in a request for repairs; the same data has the same ids.' }),
    kind: z.enum(DOUBT_KINDS),
    identifier: z.string(),
    date: z.string(),
    confidence: z.number().min(0).max(1),
    message: z.string(),
    evidence: z.record(z.string(), z.union([z.number(), z.string()])).meta({ description: 'The figures it rests on.' }),
    repair: DataRepair.nullable().meta({ description: 'Null where the data itself does not say what is right.' }),
  })
  .meta({ id: 'DataDoubt' });

export const DataAudit = z
  .strictObject({
    store_id: z.string(),
    content_hash: z.string().meta({ description: 'Of the content that was looked through.' }),
    doubts: z.array(DataDoubt).meta({ description: 'By date and identifier, at most 1000: the most certain ones.' }),
    total: z.int(),
  })
  .meta({ id: 'DataAudit' });
export type DataAudit = z.infer<typeof DataAudit>;

export const RepairRequest = z
  .strictObject({
    doubts: z
      .array(z.string().min(1).max(200))
      .min(1)
      .max(1000)
      .meta({ description: 'Ids of the doubts whose repairs to apply.' }),
    store_id: Id.optional().meta({ description: 'Id of the new store; default {store_id}-repaired-{n}.' }),
    name: Name.optional(),
    activate: z.boolean().default(false).meta({ description: 'Serve the new store at once.' }),
  })
  .meta({ id: 'RepairRequest' });
export type RepairRequest = z.infer<typeof RepairRequest>;

const storeParams = z.strictObject({ store_id: Id.meta({ description: 'Id of the data store.' }) });

export const storeRoutes = routes({
  listStores: {
    method: 'GET',
    path: '/data/stores',
    scope: 'read',
    tag: 'stores',
    summary: 'Every data store, and the one being served.',
    query: listingQuery,
    success: { status: 200, description: 'Stores by id.', schema: DataStoreCollection },
    errors: [],
  },
  createStore: {
    method: 'POST',
    path: '/data/stores',
    scope: 'data',
    tag: 'stores',
    summary: 'Registers a folder or database after reading it in full.',
    description:
      'Files are called market, reference, corporate_actions, universes and series with the ending .parquet, .csv, .csv.gz, .jsonl or .jsonl.gz, or are folders of such files; only market is needed. Every problem is one finding, and nothing is registered then.',
    body: {
      schema: DataStoreCreate,
      example: { name: 'US large caps', kind: 'folder', location: '/data/us-large', activate: true },
    },
    success: {
      status: 201,
      description: 'The store, read and registered; served already when it was to be activated.',
      schema: DataStore,
    },
    errors: ['STORE_EXISTS', 'FOLDER_REGISTERED', 'STORE_LOADING', 'NOT_SUPPORTED'],
  },
  getStore: {
    method: 'GET',
    path: '/data/stores/{store_id}',
    scope: 'read',
    tag: 'stores',
    summary: 'One data store.',
    params: storeParams,
    success: { status: 200, description: 'The store with its files and findings.', schema: DataStore },
    errors: ['STORE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  updateStore: {
    method: 'PATCH',
    path: '/data/stores/{store_id}',
    scope: 'data',
    tag: 'stores',
    summary: 'Renames a store, or changes its source, price basis or currency.',
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
    scope: 'data',
    tag: 'stores',
    summary: 'Forgets a store; the folder of a managed store is deleted.',
    params: storeParams,
    success: { status: 204, description: 'Forgotten.' },
    errors: ['STORE_NOT_FOUND', 'PRECONDITION_FAILED', 'STORE_ACTIVE', 'STORE_LOADING', 'STORE_REFRESHING'],
  },
  activateStore: {
    method: 'POST',
    path: '/data/stores/{store_id}/activate',
    scope: 'data',
    tag: 'stores',
    summary: 'Reads a store afresh and serves it.',
    description:
      'The previous store is served until the new one is fully read. A failure changes nothing. Job load:{store_id}, result DataStore.',
    params: storeParams,
    success: { status: 202, description: 'The load job.', schema: LoadJobStatus },
    errors: ['STORE_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'STORE_ACTIVE', 'STORE_LOADING', 'STORE_REFRESHING'],
  },
  refreshStore: {
    method: 'POST',
    path: '/data/stores/{store_id}/refresh',
    scope: 'data',
    tag: 'stores',
    summary: 'Brings a store up to date from its own source.',
    description:
      'Later dates are added; with full every value is read again and what was restated is reported. Synthetic data is extended. Job refresh:{store_id}, result RefreshResult.',
    params: storeParams,
    body: { schema: RefreshRequest, optional: true, example: { full: true } },
    success: { status: 202, description: 'The refreshing job.', schema: RefreshJobStatus },
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
    tag: 'stores',
    summary: 'Brings the served store up to date.',
    description: 'As a refresh of it. Job sync:{store_id}, result RefreshResult.',
    body: { schema: RefreshRequest, optional: true, example: {} },
    success: { status: 202, description: 'The syncing job.', schema: SyncJobStatus },
    errors: ['NO_DATA_SOURCE', 'NOTHING_TO_REFRESH', 'STORE_LOADING', 'STORE_REFRESHING'],
  },
  auditStore: {
    method: 'GET',
    path: '/data/stores/{store_id}/audit',
    scope: 'read',
    tag: 'stores',
    summary: 'What is probably wrong in a store.',
    description:
      'Jumps without a cause, splits that are missing, other units, repeated bars, stale tails, volume without a price, and dividends of the wrong size, duplicated or missing from adjusted prices: each with its evidence and, where the data says what is right, a repair.',
    params: storeParams,
    success: { status: 200, description: 'The doubts.', schema: DataAudit },
    errors: ['STORE_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'STORE_LOADING', 'STORE_REFRESHING', 'OVERLOADED'],
  },
  repairStore: {
    method: 'POST',
    path: '/data/stores/{store_id}/repairs',
    scope: 'data',
    tag: 'stores',
    summary: 'Writes a new store with the chosen repairs applied; the old one stays as it is.',
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
    ],
  },
  importStore: {
    method: 'POST',
    path: '/data/import',
    scope: 'data',
    tag: 'stores',
    summary: 'Writes tables or an uploaded file into a new store.',
    description:
      'Exactly one of content and tables. Every problem is one finding, at the sheet, row and column it has; nothing is written when one is an error.',
    body: {
      schema: ImportRequest,
      bytesMax: LIMITS.MAX_IMPORT_BYTES,
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
      description: 'The store; served already when it was to be activated.',
      schema: ImportResult,
    },
    errors: ['STORE_EXISTS', 'STORE_ACTIVE', 'STORE_LOADING', 'STORE_REFRESHING', 'NOT_SUPPORTED'],
  },
  getImportTemplate: {
    method: 'GET',
    path: '/data/import/template',
    scope: 'read',
    tag: 'stores',
    summary: 'A blank import template with one example row a sheet.',
    query: z.strictObject({
      format: z
        .enum(['xlsx', 'csv'])
        .default('xlsx')
        .meta({ description: 'An Excel workbook, or a zip of CSV files.' }),
    }),
    success: {
      status: 200,
      description: 'The template; it imports as it is.',
      media: ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'application/zip'],
    },
    errors: [],
  },
  generateSynthetic: {
    method: 'POST',
    path: '/data/synthetic',
    scope: 'data',
    tag: 'stores',
    summary: 'Generates a synthetic market into a new store and serves it.',
    description:
      'A market of sectors and fat tails with listings, delistings, mergers, spin-offs, splits and dividends, and yearly accounts in the reference data (FISCAL_PERIOD_END, PUBLISHED, SALES, EARNINGS, DIVIDENDS, BOOK_VALUE, EARNINGS_YIELD, BOOK_TO_PRICE, RETURN_ON_EQUITY) that hold from the day they were published. ' +
      'The store is listed at once with the status writing; it is removed again when the job fails or is cancelled. Job generate:{store_id}, result DataStore.',
    body: {
      schema: GenerateSyntheticRequest,
      optional: true,
      example: { store_id: 'market', seed: 42, assets: 150, start: '2018-01-01', end: '2024-12-31' },
    },
    success: { status: 202, description: 'The generating job.', schema: GenerateJobStatus },
    errors: ['STORE_EXISTS', 'STORE_LOADING', 'CALENDAR_NOT_COVERED', 'INVALID_RANGE'],
  },
});
