import type { UsedCalendars } from '#domain/calendars/used-calendars.js';
import type { ImportHeader, TableFormat } from '#domain/documents/import-request.js';
import type { TableFiles } from '../sources/folder.js';
import type { TableKind } from '../tables/table-kinds.js';
import type { MarketInterpretation } from '../mapping/mapped-content.js';

/** Table sent as a file. */
export interface UploadedTable {
  readonly path: string;
  readonly dataset: TableKind;
  readonly format: TableFormat;
}

/** Answer to a process that has sent the header of an import. It contains instructions for the remaining data. */
export interface ImportResponse {
  /** Folder into which the store is written. */
  readonly folder: string;
  /** Files of the store to which the import is appended. */
  readonly storedFiles: TableFiles | null;
  /** True if the store will be served after the import. */
  readonly load: boolean;
  readonly calendars: UsedCalendars;
}

/** Function that decides how to handle an import, given its header. */
export type OnImport = (header: ImportHeader) => Promise<ImportResponse>;

/** Inputs of the import of one table. */
export interface TableImport {
  readonly table: UploadedTable;
  readonly answer: ImportResponse;
  readonly terms: MarketInterpretation;
}
