import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { ImportQuery, TABLE_FORMATS } from '#domain/documents/import-request.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { IMPORT_FORMATS } from '#domain/documents/import-request.js';
import { Id } from '#domain/schema/shape.js';
import { listingQuery, purgeQuery } from '../common.js';
import { defineRoutes } from '../route.js';
import { DataStore, DataStoreCollection, DataStoreCreate, DataStoreUpdate } from './store.js';
import { RefreshRequest, RefreshJobStatus, SyncJobStatus } from './refresh.js';
import { ImportResult, ImportRequest, LoadJobStatus } from './import.js';
import { InspectRequest, InspectResult } from './inspect.js';
import { GenerateJobStatus } from './synthetic.js';
import { GenerateSyntheticRequest } from '#domain/documents/synthetic-request.js';
import { DataAudit, RepairRequest } from './audit.js';

const storeParams = defineObject(() => ({ store_id: Id.meta({ description: 'Id of the data store.' }) }));

export const storeRoutes = defineRoutes({
  listStores: {
    method: 'GET',
    path: '/data/stores',
    scope: 'read',
    tag: 'stores',
    summary: 'Lists all data stores, and the served store.',
    query: listingQuery,
    success: { status: 200, description: 'Stores by id.', schema: DataStoreCollection },
    errors: [],
  },
  createStore: {
    method: 'POST',
    path: '/data/stores',
    scope: 'data',
    tag: 'stores',
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
    scope: 'read',
    tag: 'stores',
    summary: 'Returns one data store.',
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
    scope: 'data',
    tag: 'stores',
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
    tag: 'stores',
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
    tag: 'stores',
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
    tag: 'stores',
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
    tag: 'stores',
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
    tag: 'stores',
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
    tag: 'stores',
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
    tag: 'stores',
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
    tag: 'stores',
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
    errors: [],
  },
  generateSynthetic: {
    method: 'POST',
    path: '/data/synthetic',
    scope: 'data',
    tag: 'stores',
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
