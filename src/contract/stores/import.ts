import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { ImportHeader } from '#domain/documents/import-request.js';
import { Finding, TableFrame } from '../common.js';
import { createJobStatus } from '../jobs.js';
import { DataStore } from './store.js';

export const ImportRequest = defineObject(() => ({
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
  findings: z.array(Finding).meta({ description: 'Data warnings, which do not block the import.' }),
})).meta({ id: 'ImportResult' });
export type ImportResult = z.infer<typeof ImportResult>;

export const LoadJobStatus = createJobStatus('LoadJobStatus', 'load', DataStore);
