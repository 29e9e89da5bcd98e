import type { ImportHeader, TableFormat } from '#domain/documents/import-request.js';
import type { TableFiles } from '../sources/folder.js';
import type { TableKind } from '../tables/table-kinds.js';
import type { MarketTerms } from '../mapping/mapped-content.js';

/** A table that was sent as a file. */
export interface UploadedTable {
  readonly path: string;
  readonly dataset: TableKind;
  readonly format: TableFormat;
}

/** The answer to the process after it sent the header of an import: what to do with the rest. */
export interface ImportAnswer {
  /** Folder to write the store to. */
  readonly folder: string;
  /** Files of the store that the import is appended to. */
  readonly held: TableFiles | null;
  /** True when the store is served after the import. */
  readonly load: boolean;
}

/** Decides about an import once its header is read. */
export type OnImport = (header: ImportHeader) => Promise<ImportAnswer>;

/** Everything that the import of one table depends on. */
export interface TableImport {
  readonly table: UploadedTable;
  readonly answer: ImportAnswer;
  readonly terms: MarketTerms;
}
