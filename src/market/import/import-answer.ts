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

/** Answer to a process that has sent the header of an import: instructions for the remaining data. */
export interface ImportAnswer {
  /** Folder to write the store to. */
  readonly folder: string;
  /** Files of the store that the import is appended to. */
  readonly held: TableFiles | null;
  /** True if the store is served after the import. */
  readonly load: boolean;
}

/** Decides about an import once its header is read. */
export type OnImport = (header: ImportHeader) => Promise<ImportAnswer>;

/** All inputs of the import of one table. */
export interface TableImport {
  readonly table: UploadedTable;
  readonly answer: ImportAnswer;
  readonly terms: MarketTerms;
}
