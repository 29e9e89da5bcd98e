import { zipOf } from './zip.js';

/** The tables of a store, each a file of CSV. */
export const TABLES = ['market', 'reference', 'corporate_actions', 'universes', 'series'] as const;
export type TableName = (typeof TABLES)[number];

export interface ImportFile {
  readonly file: File;
  /** Which table a file of CSV or Parquet is; null for what brings its tables by itself. */
  readonly table: TableName | null;
}

const endingOf = ({ name }: File): string => /\.[a-z0-9]+$/i.exec(name)?.[0].toLowerCase() ?? '';

/** Endings of files that hold one table each. */
const OF_A_TABLE = new Set(['.csv', '.parquet']);

export const isParquet = ({ file }: ImportFile): boolean => endingOf(file) === '.parquet';

/** The files as they would be imported; a file of CSV or Parquet is the table it is called like, and of the market where it is called otherwise. */
export function withFiles(before: readonly ImportFile[], added: readonly File[]): readonly ImportFile[] {
  const files = added.map((file): ImportFile => {
    const base = file.name.replace(/\.[^.]*$/, '').toLowerCase();
    return {
      file,
      table: OF_A_TABLE.has(endingOf(file)) ? (TABLES.find((table) => base === table) ?? 'market') : null,
    };
  });
  return [...before, ...files];
}

/** Why the files cannot be imported together; null where they can. */
export function troubleOfFiles(files: readonly ImportFile[], bytesMax: number): string | null {
  const odd = files.find(({ file }) => !['.csv', '.zip', '.xlsx', '.parquet'].includes(endingOf(file)));
  if (odd !== undefined) return `${odd.file.name} is none of CSV, Parquet, zip and xlsx.`;
  if (files.some(isParquet) && !files.every(isParquet)) return 'Files of Parquet come without others.';
  if (files.filter((one) => isParquet(one) && one.table === 'market').length > 1)
    return 'One file of Parquet holds the whole market: to read a folder of them, connect it.';
  const whole = files.filter(({ table }) => table === null);
  if (whole.length > 0 && files.length > 1) return `${whole[0]!.file.name} holds every table: it comes alone.`;
  const twice = TABLES.find((table) => table !== 'market' && files.filter((one) => one.table === table).length > 1);
  if (twice !== undefined) return `Two files are ${twice}.`;
  if (whole.length === 0 && files.length > 0 && !files.some(({ table }) => table === 'market'))
    return 'One of the files has to be market: prices by identifier and date.';
  // Base64 takes four characters for three bytes.
  const [only] = whole;
  return only !== undefined && (only.file.size * 4) / 3 > bytesMax
    ? `${only.file.name} is larger than the service takes in one request; connect its folder instead.`
    : null;
}

export interface ImportContent {
  readonly format: 'xlsx' | 'csv' | 'parquet';
  /** In base64. */
  readonly content: string;
}

/** What the service is sent: the prices of Parquet, a workbook or an archive as it is, files of CSV packed together. @param isMapped whether those of the market keep their names, which a mapping reads */
export async function contentOf(files: readonly ImportFile[], isMapped: boolean): Promise<ImportContent> {
  const [first] = files;
  const market = files.find((one) => isParquet(one) && one.table === 'market');
  if (market !== undefined) return { format: 'parquet', content: await base64Of(market.file) };
  const isWhole = first?.table === null;
  const blob = isWhole
    ? first!.file
    : await zipOf(
        await Promise.all(
          files.map(async ({ file, table }) => ({
            name: isMapped && table === 'market' ? file.name : `${table}.csv`,
            bytes: new Uint8Array(await file.arrayBuffer()),
          })),
        ),
      );
  return { format: isWhole && endingOf(first!.file) === '.xlsx' ? 'xlsx' : 'csv', content: await base64Of(blob) };
}

function base64Of(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result).replace(/^[^,]*,/, '')));
    reader.addEventListener('error', () => reject(reader.error ?? new Error('The file cannot be read.')));
    reader.readAsDataURL(blob);
  });
}

/** A name for a store, from that of its file. */
export const nameFrom = ({ name }: File): string => name.replace(/\.[^.]*$/, '').replaceAll(/[_-]+/g, ' ');
