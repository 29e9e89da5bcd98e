import type { RowFormat } from '#domain/exports/formats.js';
import { createArrowWriter } from './arrow.js';
import { createCsvWriter } from './csv.js';
import { createJsonRowsWriter } from './json-rows.js';
import { createParquetWriter } from './parquet.js';
import type { PartInput, PartWriter } from './part.js';

/** Writers by format. If a format has no writer, the code does not compile. */
export const PART_WRITERS: Readonly<Record<RowFormat, (input: PartInput) => PartWriter>> = {
  csv: createCsvWriter,
  arrow: createArrowWriter,
  parquet: createParquetWriter,
  json: createJsonRowsWriter,
};
