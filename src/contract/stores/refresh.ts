import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import { FINDING_CODES } from '#domain/refusals/findings.js';
import { IsoDate } from '#domain/schema/shape.js';
import { Finding } from '../common.js';
import { createJobStatus } from '../jobs.js';

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

const rowCounts = {
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
    .record(z.enum(TABLE_KINDS), z.strictObject(rowCounts))
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
      ...rowCounts,
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
          .strictObject(rowCounts)
          .meta({ description: 'Number of bars of the history that differ in the source.' }),
        corporate_actions: z
          .strictObject(rowCounts)
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
  findings: z.array(Finding).meta({
    description:
      'SPLIT_RESTATED and HISTORY_CHANGED by security; HISTORY_CHANGED for other datasets; LATE_BARS; every data warning that the refresh causes, such as PRICE_JUMP; PARTIAL_DATE and GAP_LONG of the whole market also for the last dates before the refresh.',
  }),
})).meta({ id: 'RefreshResult' });

export const RefreshJobStatus = createJobStatus('RefreshJobStatus', 'refresh', RefreshResult);
export const SyncJobStatus = createJobStatus('SyncJobStatus', 'sync', RefreshResult);
