/** Endings of files that an import takes. */
export const ACCEPTED = '.csv,.parquet,.zip,.xlsx';
