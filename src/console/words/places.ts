import type { Finding } from '#clients/typescript/divisor.js';

/** Where a finding about data lies, as far as its path says. */
export interface Place {
  readonly table: string;
  /** File or sheet of the table, where several bring it; empty otherwise. */
  readonly file: string;
  /** Row of a file, or name and date of a bar. */
  readonly row: string;
  readonly column: string;
}

/** `market[row 2].CLOSE`, `market/XYZ.csv[row 2].CLOSE` or `market[XYZ 2024-03-15].CLOSE` taken apart; of another form it is the table. */
export function placeOf(path: string): Place {
  const found = /^([^[\]./]+)(?:\/([^[\]]+))?(?:\[(?:row )?([^\]]+)\])?(?:\.([^[\]]+))?$/.exec(path);
  const [, table = path, file = '', row = '', column = ''] = found ?? [];
  return { table, file, row, column };
}

/** A file that was chosen, and the table it is taken for; null where it holds every table. */
interface Chosen {
  readonly name: string;
  readonly table: string | null;
}

/** The one of the files that a finding is about: by its name, else by its table; undefined where that is no single one. */
export function fileOf<F extends Chosen>(
  { path, file }: Pick<Finding, 'path' | 'file'>,
  files: readonly F[],
): F | undefined {
  const place = placeOf(path);
  const named = files.find(({ name }) => name === file || (place.file !== '' && name === place.file));
  if (named !== undefined) return named;
  const ofTable = files.filter(({ table }) => table === place.table);
  return ofTable.length === 1 ? ofTable[0] : undefined;
}
