import type { Mapping } from '#domain/documents/mapping.js';
import { findTable, type TableKind } from '../tables/table-kinds.js';
import { isMarketTable } from '../mapping/market-tables.js';
import { readOnlySheet, readWorkbookBytes } from '../sources/read-workbook-file.js';
import { WorkbookFault } from '../formats/workbook-reader.js';
import { XmlFault } from '../formats/xml-tokens.js';
import { FILES_MAX, INFLATED_BYTES_MAX, openZip, ZipFault, type ZipMember } from '../formats/zip-reader.js';

/** Readable files of an archive. They are treated like files of a folder. */
export interface ArchivedFiles {
  /** Members except those added by operating systems. */
  readonly members: readonly ZipMember[];
  /** True if the tables are workbooks. They are used if there is no text file of the market, as in a folder. */
  readonly areWorkbooks: boolean;
}

/** Name of a member that every Office document has and other archives lack. */
const WORKBOOK_MARK = '[Content_Types].xml';

/** First bytes of an archive, including an empty archive. */
const ZIP_MARK = 'PK';

/**
 * Returns the files of an archive. If the bytes are a CSV file and no archive, the market is the only file.
 * @throws ZipFault
 */
export async function readArchivedFiles(
  bytes: Uint8Array,
  format: 'csv' | 'csv.zip',
  mapping: Mapping | null,
): Promise<ArchivedFiles> {
  const signature = Buffer.from(bytes.subarray(0, ZIP_MARK.length)).toString('latin1');
  if (format === 'csv' && signature !== '' && signature !== ZIP_MARK)
    return { members: [createPlainMember(bytes)], areWorkbooks: false };
  const members = (await openZip(bytes, FILES_MAX)).filter(({ name }) => !isSystemFile(name));
  if (members.some(({ name }) => name === WORKBOOK_MARK))
    throw new ZipFault('The file is an Office document; a workbook is read with the format xlsx.');
  const isPrices = ({ name }: ZipMember) => findFileTableKind(getBaseName(name), mapping) === 'market';
  return { members, areWorkbooks: !members.some(isPrices) };
}

const createPlainMember = (bytes: Uint8Array): ZipMember => ({
  name: 'market.csv',
  bytes: bytes.length,
  async *open() {
    yield bytes;
  },
});

/** Returns the name of a member without its folders. */
export const getBaseName = (name: string): string => name.split('/').at(-1)!;

/** Returns true if an operating system added a member to the archive: its name begins with a dot or two underscores. */
const isSystemFile = (name: string) => name.split('/').some((part) => /^(\.(?!\.)|__)/.test(part));

/** Returns the dataset that the name of a table states. With a mapping, other mapped names are the market. */
export function findTableKind(name: string, mapping: Mapping | null = null): TableKind | undefined {
  return findTable(name) ?? (mapping !== null && isMarketTable(mapping, name) ? 'market' : undefined);
}

/** Returns the dataset of a text file. */
export function findFileTableKind(base: string, mapping: Mapping | null): TableKind | undefined {
  if (!/\.csv$/i.test(base))
    return mapping !== null && /\.(txt|tsv)$/i.test(base) ? findTableKind(base, mapping) : undefined;
  return findTableKind(base.slice(0, -4)) ?? findTableKind(base, mapping);
}

const WORKBOOK_NAME = /\.xlsx$/i;

export const isWorkbook = (name: string): boolean => WORKBOOK_NAME.test(name);

/** Returns the dataset of a workbook by its name. */
export function findWorkbookTableKind(base: string, mapping: Mapping | null): TableKind | undefined {
  return isWorkbook(base)
    ? (findTableKind(base.replace(WORKBOOK_NAME, '')) ?? findTableKind(base, mapping))
    : undefined;
}

/** Returns true for the error classes of workbooks and archives. */
export const isWorkbookFault = (error: unknown): error is Error =>
  error instanceof ZipFault || error instanceof XmlFault || error instanceof WorkbookFault;

/**
 * Creates a reader of the workbooks of one archive, each with a single sheet. The size limit of one workbook applies to
 * all of them together, because a small archive of archives can expand to any size.
 */
export function createWorkbookReader() {
  let inflatedBytes = 0;
  /** @throws WorkbookFault, ZipFault, XmlFault */
  return async (
    member: ZipMember,
    onHeader: Parameters<typeof readOnlySheet>[1],
    terms: Parameters<typeof readOnlySheet>[2],
  ): Promise<void> => {
    const bytes = await readWorkbookBytes(member, member.open());
    for (const part of await openZip(bytes)) inflatedBytes += part.bytes;
    if (inflatedBytes > INFLATED_BYTES_MAX)
      throw new ZipFault(
        `The workbooks of the archive hold ${inflatedBytes} bytes after decompression; at most ${INFLATED_BYTES_MAX} are read.`,
      );
    await readOnlySheet(bytes, onHeader, terms);
  };
}
