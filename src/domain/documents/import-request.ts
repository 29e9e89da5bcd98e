import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { Id } from '../schema/shape.js';
import { Mapping } from './mapping.js';
import { Adjustment, DeclaredCurrency, TABLE_KINDS } from './dataset-document.js';

/** Table in a request. Its rows are checked when they are read, and each problem is reported at its row. */
export interface ImportTable {
  readonly index: readonly unknown[];
  readonly columns: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

/**
 * Formats of the content of an import and of its template. `csv` is the earlier name of `csv.zip` and also means a
 * single file.
 */
export const IMPORT_FORMATS = ['xlsx', 'csv.zip', 'csv'] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

/** Fields of an import that are checked before its data are read. */
export const ImportHeader = defineObject(() => ({
  name: z.string().min(1).max(200),
  store_id: Id.optional().meta({
    description: 'Id of the store. Default: the name in lower case, with other characters replaced by dashes.',
  }),
  format: z.enum(IMPORT_FORMATS).default('xlsx').meta({
    description:
      'Format of the content: an Excel workbook, a zip archive of CSV files, or a zip archive of workbooks with one sheet each. With csv, the content can also be a single CSV file.',
  }),
  adjustment: Adjustment.default('none'),
  currency: DeclaredCurrency.optional().meta({
    description: 'Currency of securities without a CURRENCY. An append does not change the currency of the store.',
  }),
  mapping: Mapping.nullable()
    .default(null)
    .meta({ description: 'Mapping of a market that does not follow the template.' }),
  activate: z.boolean().default(false).meta({ description: 'Activate the store immediately.' }),
  on_exists: z
    .enum(['refuse', 'replace', 'append'])
    .default('refuse')
    .meta({ description: 'Action if the id is already used. append adds new rows to an imported store.' }),
}));
export type ImportHeader = z.infer<typeof ImportHeader>;

/** Formats of a table in the body of an import, by media type. */
export const TABLE_FORMATS = {
  'application/vnd.apache.parquet': 'parquet',
  'application/vnd.apache.arrow.stream': 'arrow',
} as const;
export type TableFormat = (typeof TABLE_FORMATS)[keyof typeof TABLE_FORMATS];

const { shape } = ImportHeader;

/** Query parameters of an import whose body is a table. */
export const ImportQuery = defineObject(() => ({
  name: shape.name.optional().meta({ description: 'Id of the store. Required if the body is a table.' }),
  store_id: shape.store_id,
  dataset: z.enum(TABLE_KINDS).optional().meta({ description: 'Kind of the table. Default: market.' }),
  adjustment: Adjustment.optional(),
  currency: z.string().optional().meta({ description: 'Currency of securities without a CURRENCY.' }),
  mapping: z.string().max(100_000).optional().meta({ description: 'Mapping of the table, as JSON.' }),
  activate: z.boolean().optional().meta({ description: 'Activate the store immediately.' }),
  on_exists: shape.on_exists
    .unwrap()
    .optional()
    .meta({ description: 'Action if the id is already used. Tables other than the market are appended.' }),
}));
export type ImportQuery = z.infer<typeof ImportQuery>;

const isTable = (value: unknown): boolean => {
  const table = value as Partial<ImportTable> | null;
  return (
    typeof table === 'object' &&
    table !== null &&
    Object.keys(table).every((key) => key === 'index' || key === 'columns' || key === 'data') &&
    Array.isArray(table.index) &&
    Array.isArray(table.columns) &&
    table.columns.every((column) => typeof column === 'string') &&
    Array.isArray(table.data) &&
    table.data.every((row) => Array.isArray(row))
  );
};

/** Complete body of an import. */
export const ImportBody = defineObject(() => ({
  ...ImportHeader.shape,
  content: z.string().min(1).nullable().default(null),
  tables: z
    .record(
      z.string(),
      z.custom<ImportTable>(isTable, { error: 'must be an object of index, columns and data, whose rows are arrays' }),
    )
    .nullable()
    .default(null),
}));
export type ImportBody = z.infer<typeof ImportBody>;
