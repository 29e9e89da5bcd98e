import { z } from 'zod';
import { Id } from '../schema/shape.js';
import { Mapping } from './mapping.js';
import { Adjustment, DeclaredCurrency, TABLE_KINDS } from './dataset-document.js';

/** A table as a request carries it. Its rows are checked where they are read: each problem at its own row. */
export interface ImportTable {
  readonly index: readonly unknown[];
  readonly columns: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

/** Formats of the content of an import and of its template. `csv` is the earlier name of `csv.zip`, and a file alone. */
export const IMPORT_FORMATS = ['xlsx', 'csv.zip', 'csv'] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

/** Fields of an import that are decided before its data is read. */
export const ImportHeader = z.strictObject({
  name: z.string().min(1).max(200),
  store_id: Id.optional().meta({ description: 'Default: the name in lower case, other characters as dashes.' }),
  format: z.enum(IMPORT_FORMATS).default('xlsx').meta({
    description:
      'Of the content: an Excel workbook, or a zip of CSV files or of workbooks of one sheet each; csv is one CSV file, too.',
  }),
  adjustment: Adjustment.default('none'),
  currency: DeclaredCurrency.optional().meta({
    description:
      'Currency of the prices of names that have no CURRENCY of their own; an append keeps that of the store.',
  }),
  mapping: Mapping.nullable()
    .default(null)
    .meta({ description: 'How the market is read where it is not written as the template is.' }),
  activate: z.boolean().default(false).meta({ description: 'Serve the store at once.' }),
  on_exists: z
    .enum(['refuse', 'replace', 'append'])
    .default('refuse')
    .meta({ description: 'What to do when the id is taken: append adds to an imported store what it does not hold.' }),
});
export type ImportHeader = z.infer<typeof ImportHeader>;

/** Formats of a table that is the body of an import, by media type. */
export const TABLE_FORMATS = {
  'application/vnd.apache.parquet': 'parquet',
  'application/vnd.apache.arrow.stream': 'arrow',
} as const;
export type TableFormat = (typeof TABLE_FORMATS)[keyof typeof TABLE_FORMATS];

const { shape } = ImportHeader;

/** What is said in the query of an import whose body is a table. */
export const ImportQuery = z.strictObject({
  name: shape.name.optional().meta({ description: 'Of the store. Needed where the body is a table.' }),
  store_id: shape.store_id,
  dataset: z.enum(TABLE_KINDS).optional().meta({ description: 'What the table is; market by default.' }),
  adjustment: Adjustment.optional(),
  currency: z.string().optional().meta({ description: 'Currency of names that have no CURRENCY of their own.' }),
  mapping: z.string().max(100_000).optional().meta({ description: 'A Mapping as JSON: how the table is read.' }),
  activate: z.boolean().optional().meta({ description: 'Serve the store at once.' }),
  on_exists: shape.on_exists
    .unwrap()
    .optional()
    .meta({ description: 'What to do when the id is taken; tables other than the market are appended.' }),
});
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

/** The whole body of an import. */
export const ImportBody = ImportHeader.extend({
  content: z.string().min(1).nullable().default(null),
  tables: z
    .record(
      z.string(),
      z.custom<ImportTable>(isTable, { error: 'must be an object of index, columns and data, whose rows are arrays' }),
    )
    .nullable()
    .default(null),
});
export type ImportBody = z.infer<typeof ImportBody>;
