import type { Heading } from '../formats/cells.js';
import { namePositions } from '../mapping/market-tables.js';
import { readWorkbook, WorkbookFault, type SheetSink } from '../formats/workbook-reader.js';
import type { SourceFile } from '../formats/source-file.js';

/** Maximum size of a workbook, equal to the largest upload after decoding. */
const WORKBOOK_BYTES_MAX = 48 << 20;

/** Settings for reading a workbook with one table. */
export interface WorkbookTerms {
  /** Number of rows before the header, not counting empty ones. */
  readonly skip?: number | undefined;
  /** True if the sheet has no header; its columns are then named by position. Default: false. */
  readonly isHeaderless?: boolean | undefined;
  /** Names of ignored sheets. */
  readonly ignore?: readonly string[] | undefined;
}

/**
 * Function that receives the header of the only sheet that is not empty. It returns a receiver of the rows of the
 * sheet.
 */
type OnHeader = (columns: readonly string[], heading: Heading) => SheetSink;

/**
 * Reads a workbook of a dataset, which must have exactly one non-empty sheet.
 * @param file size of the file
 * @param bytes content of the file
 * @throws WorkbookFault, ZipFault, XmlFault
 */
export async function readWorkbookFile(
  file: Pick<SourceFile, 'bytes'>,
  bytes: AsyncIterable<Uint8Array>,
  onHeader: OnHeader,
  terms: WorkbookTerms,
): Promise<void> {
  await readOnlySheet(await readWorkbookBytes(file, bytes), onHeader, terms);
}

/** Returns all bytes of a workbook. @throws WorkbookFault */
export async function readWorkbookBytes(
  file: Pick<SourceFile, 'bytes'>,
  bytes: AsyncIterable<Uint8Array>,
): Promise<Uint8Array> {
  if (file.bytes > WORKBOOK_BYTES_MAX)
    throw new WorkbookFault('', `The workbook has ${file.bytes} bytes; at most ${WORKBOOK_BYTES_MAX} are read.`);
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Reads the only non-empty sheet of a workbook. @throws WorkbookFault, ZipFault, XmlFault */
export async function readOnlySheet(
  workbook: Uint8Array,
  onHeader: OnHeader,
  { skip, isHeaderless = false, ignore = [] }: WorkbookTerms,
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
    () => ({ skip, nameColumns: isHeaderless ? namePositions : undefined }),
  );
}
