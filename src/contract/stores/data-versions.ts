import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { DATA_SOURCES } from '#domain/documents/data-version-document.js';
import { Id } from '#domain/schema/shape.js';
import { skippedFields } from '../common.js';
import { defineRoutes } from '../route.js';

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

export const DataVersions = defineObject(() => ({
  versions: z.array(DataVersion).meta({ description: 'Newest first.' }),
  total: z.int().min(0).meta({ description: 'Number of stored versions, listed or not.' }),
  ...skippedFields,
  copy: z.enum(['made', 'pending', 'missing']).nullable().meta({
    description:
      'Copy of the latest data of a folder or a database, which is used after its source has changed. `pending`: the copy is written after the response that served the data. `missing`: the data exceeds `MAX_COPIED_CONTENT_BYTES`, the disk had too little space, or the copy was interrupted. If a missing copy can be written, it is written when the store is next read. Null if the files of the service are the copy.',
  }),
})).meta({ id: 'DataVersions' });
export type DataVersions = z.infer<typeof DataVersions>;

const value = z.union([z.string(), z.number(), z.boolean()]).nullable();

export const DataCell = defineObject(() => ({
  table: z.string().meta({ description: 'Dataset of the value.' }),
  identifier: z.string(),
  date: z.string().nullable().meta({ description: 'Date of the value; null for a value that is always valid.' }),
  field: z.string().meta({ description: 'Column of the value.' }),
  before: value.meta({ description: 'Value before the change; null if there was none.' }),
  after: value.meta({ description: 'Value after the change; null if there is none.' }),
})).meta({ id: 'DataCell' });

export const AppendedBars = defineObject(() => ({
  sessions: z.int().min(1).meta({ description: 'Number of new sessions.' }),
  rows: z.int().min(0).meta({ description: 'Number of bars on these sessions, included in rows_added.' }),
  start: z.string().meta({ description: 'The first new session, YYYY-MM-DD.' }),
  end: z.string().meta({ description: 'The last new session, YYYY-MM-DD.' }),
}))
  .nullable()
  .meta({ description: 'Bars of sessions after the last session of the first version; null if there are none.' });

export const DataDifference = defineObject(() => ({
  from: z.int().meta({ description: 'The earlier version.' }),
  to: z.int().meta({ description: 'The later version.' }),
  cells: z.int().min(0).meta({
    description:
      'Number of values, up to the last date of the first version, that differ or that only one version contains.',
  }),
  ...rowCounts,
  appended: AppendedBars,
  changes: z.array(DataCell).meta({
    description: 'The first of these values, by date. With `appended`, values of appended bars follow.',
  }),
  cut: z.boolean().meta({ description: 'True if `limit` omitted some of these values.' }),
})).meta({ id: 'DataDifference' });
export type DataDifferenceView = z.infer<typeof DataDifference>;

/** Errors of a request for an earlier version of the data. */
export const asKnownErrors = ['NO_DATA_KNOWN', 'VERSION_NOT_FOUND', 'DOCUMENT_UNREADABLE'] as const;

const params = defineObject(() => ({ store_id: Id.meta({ description: 'Id of the data store.' }) }));

export const dataVersionRoutes = defineRoutes({
  listDataVersions: {
    method: 'GET',
    path: '/data/stores/{store_id}/versions',
    scope: 'read',
    tag: 'stores',
    summary: 'Lists the versions of the data of a store that were served, newest first.',
    description:
      'The service keeps the changed values and, for a folder or a database, a copy of the latest data. Changes that are made while the service is stopped or serves another store are found when the store is read again. The copy is written after the response that serves the data. Until `copy` reports that the copy exists, the data is lost if the source changes while the service is stopped. A version is not readable if it was removed by `versions_kept`, or if it was too large to be copied.',
    params,
    query: defineObject(() => ({
      limit: z.int().min(1).max(1000).default(100).meta({ description: 'Maximum number of versions.' }),
      before: z.int().min(1).optional().meta({ description: 'Only versions with a smaller number.' }),
    })),
    success: { status: 200, description: 'The versions.', schema: DataVersions },
    errors: ['STORE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  diffDataVersions: {
    method: 'GET',
    path: '/data/stores/{store_id}/versions/diff',
    onStore: 'path',
    scope: 'read',
    tag: 'stores',
    summary: 'Lists the values that differ between two versions of the data.',
    params,
    query: defineObject(() => ({
      from: z.int().min(1).meta({ description: 'First version.', example: 1 }),
      to: z.int().min(1).meta({ description: 'Second version.', example: 1 }),
      limit: z.int().min(1).max(1000).default(100).meta({ description: 'Maximum number of listed values.' }),
      appended: z.boolean().default(false).meta({ description: 'True also lists the values of appended bars.' }),
    })),
    success: { status: 200, description: 'The difference.', schema: DataDifference },
    errors: ['STORE_NOT_FOUND', 'NO_DATA_SOURCE', ...asKnownErrors],
  },
});
