/** Endings of files that an import takes. */
export const ACCEPTED = '.csv,.zip,.xlsx';
