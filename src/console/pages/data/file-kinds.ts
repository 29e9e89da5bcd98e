/** Chosen file, or a file in a chosen archive. */
export interface Source {
  /** Name of the file; in an archive with its folders. */
  readonly name: string;
  readonly size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** Extensions of files that an import accepts. */
export const ACCEPTED_EXTENSIONS = '.csv,.tsv,.txt,.parquet,.zip,.xlsx';

/** Returns the extension of a file in lower case. */
export const getExtension = ({ name }: { readonly name: string }): string =>
  /\.[a-z0-9]+$/i.exec(name)?.[0].toLowerCase() ?? '';

/** Returns the name of a file without the folders of its archive. */
export const getBaseName = ({ name }: { readonly name: string }): string => name.slice(name.lastIndexOf('/') + 1);
