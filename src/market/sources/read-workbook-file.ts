import type { Heading } from '../formats/cells.js';
import { readWorkbook, WorkbookFault, type SheetSink } from '../formats/workbook-reader.js';
import type { SourceFile } from '../formats/source-file.js';

/** Bytes of a workbook: those of the largest upload, decoded. */
const WORKBOOK_BYTES_MAX = 48 << 20;

/** How a workbook of one table is read. */
export interface WorkbookTerms {
  /** Rows before the header, empty ones not counted. */
  readonly skip?: number | undefined;
  /** Sheets that are left out. */
  readonly ignore?: readonly string[] | undefined;
}

/** The sink of the only sheet that holds anything. */
type OnHeader = (columns: readonly string[], heading: Heading) => SheetSink;

/**
 * Reads a workbook among the files of a dataset: the only sheet that holds anything.
 * @param file its bytes, as its folder or archive says
 * @throws WorkbookFault, ZipFault, XmlFault
 */
export async function readWorkbookFile(
  file: Pick<SourceFile, 'bytes'>,
  bytes: AsyncIterable<Uint8Array>,
  onHeader: OnHeader,
  terms: WorkbookTerms,
): Promise<void> {
  await readOnlySheet(await workbookBytes(file, bytes), onHeader, terms);
}

/** All bytes of a workbook. @throws WorkbookFault */
export async function workbookBytes(
  file: Pick<SourceFile, 'bytes'>,
  bytes: AsyncIterable<Uint8Array>,
): Promise<Uint8Array> {
  if (file.bytes > WORKBOOK_BYTES_MAX)
    throw new WorkbookFault('', `The workbook has ${file.bytes} bytes; at most ${WORKBOOK_BYTES_MAX} are read.`);
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Reads the only sheet of a workbook that holds anything. @throws WorkbookFault, ZipFault, XmlFault */
export async function readOnlySheet(
  workbook: Uint8Array,
  onHeader: OnHeader,
  { skip = 0, ignore = [] }: WorkbookTerms,
): Promise<void> {
  let first: string | undefined;
  await readWorkbook(
    workbook,
    (sheet, columns, heading) => {
      if (columns.length === 0 || ignore.includes(sheet)) return undefined;
      if (first !== undefined)
        throw new WorkbookFault(
          sheet,
          `The sheets ${JSON.stringify(first.slice(0, 80))} and ${JSON.stringify(sheet.slice(0, 80))} hold values; among workbooks one sheet of each is read. Leave the other out by ignore, or import the workbook by itself.`,
        );
      first = sheet;
      return onHeader(columns, heading);
    },
    () => skip,
  );
}
