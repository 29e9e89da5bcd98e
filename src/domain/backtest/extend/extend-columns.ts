import type { Numbers, NumberType } from '../../numbers/number-types.js';
import type { AppendedSessions, Addition } from '../run-file/block.js';
import { createColumns, type ColumnsWriter } from '../run-file/create.js';
import { extendHeader, type AddedSecurity, type BlockPosition } from '../run-file/header.js';
import type { RunColumns } from '../run-file/read.js';
import { BLOCK_NAMES, findBlock, isPanel, type BlockName } from '../run-file/schema.js';
import { CannotResumeError } from '../../documents/full-run-reasons.js';

export interface ExtendColumnsInput {
  readonly stored: RunColumns;
  /**
   * Names of the earlier files of the run, followed by the name of the open file. The new file is written to their
   * folder.
   */
  readonly fileNames: readonly string[];
  /** Maximum number of dates in one file. Further dates are written to another file. Default: `DATES_MAX`. */
  readonly datesMax?: number;
  readonly added: AppendedSessions;
}

export interface ExtendedColumns {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Number of named files that contain segments of the new file's blocks. */
  readonly earlierFiles: number;
}

/**
 * Maximum number of dates in one file of columns; further dates are written to a continuation file. 32 dates are 1 MB
 * for 500 securities.
 */
const DATES_MAX = 32;
/**
 * Returns true if a file of columns is complete, so that new dates are written to another file.
 * @param dateCount number of dates in this file
 */
export const isFileFull = (dateCount: number, datesMax = DATES_MAX): boolean => dateCount >= datesMax;
/** Returns the number of dates in the newest file of the columns of a run. */
export const countAddedDates = (stored: RunColumns): number => stored.header.dates - stored.inEarlierFiles('level');
/** Maximum number of files for the columns of a run: reading a whole block opens every file. */
const FILES_MAX = 128;

/**
 * Extends the columns of a run: appends the new elements to each block. Rewrites small blocks, and blocks whose order
 * changes. If securities have joined or the open file is full, the stored blocks stay in their file and a new file is
 * written.
 * @throws CannotResumeError if there would be too many files
 */
export function extendColumns({ stored, fileNames, datesMax, added }: ExtendColumnsInput): ExtendedColumns {
  const { header } = stored;
  const { begun: earlierNames = [], joined: earlierJoined = [] } = header;
  const staysWhole = added.joined.length > 0 || isFileFull(countAddedDates(stored), datesMax);
  const files = fileNames.slice(0, earlierNames.length + (staysWhole ? 1 : 0));
  if (files.length > FILES_MAX) throw new CannotResumeError('file_rewritten');
  const extendedFile: ExtendedFile = { stored, stays: staysWhole, earlier: files.length, width: added.names.length };
  const blocks = BLOCK_NAMES.flatMap((name) => extendBlock(name, added, extendedFile) ?? []);
  const { identifiers } = added.continuation.index.sm;
  const joinedSecurities = [
    ...earlierJoined,
    ...Array.from(added.joined, (column): AddedSecurity => ({
      name: identifiers[column]!,
      file: files.length,
      dates: added.before,
    })),
  ];
  const columns = createColumns(
    { ...extendHeader(header, added), ...(joinedSecurities.length > 0 ? { joined: joinedSecurities } : {}) },
    new Map(blocks.map(({ name, type, parts }) => [name, { type, length: sumLengths(parts) }])),
    { earlier: { files, blocks: new Map(blocks.flatMap(({ name, earlier }) => (earlier ? [[name, earlier]] : []))) } },
  );
  for (const block of blocks) writeBlock(columns, block);
  return { bytes: columns.bytes, earlierFiles: files.length };
}

interface ExtendedFile {
  readonly stored: RunColumns;
  /** True if the stored blocks stay in their file. */
  readonly stays: boolean;
  /** Number of files with earlier segments. */
  readonly earlier: number;
  /** Number of securities of the run. */
  readonly width: number;
}

/** Block of the new file. */
interface ExtendedBlock {
  readonly name: BlockName;
  readonly type: NumberType;
  /** Elements for the new file, to be concatenated. */
  readonly parts: readonly Numbers[];
  /** Start and number of the elements in each earlier file, and the total number of elements. */
  readonly earlier?: Required<Pick<BlockPosition, 'begins' | 'length'>>;
}

/** Returns a block with its new elements. Returns null if the run has no such block. */
function extendBlock(name: BlockName, added: AppendedSessions, file: ExtendedFile): ExtendedBlock | null {
  const { type, canBeAddedLater = false } = findBlock(name);
  const { stored } = file;
  const isStored = stored.has(name);
  if (!isStored && !canBeAddedLater) return null;
  const addition: Addition<Numbers> | null = findBlock(name).added(added);
  if (addition === null) return null;
  if ('replaced' in addition) return { name, type, parts: [addition.replaced] };
  if (isStored) return appendToStoredBlock({ name, type, parts: addition.appended }, file);
  return addition.appended.length === 0 ? null : createNewBlock({ name, type, parts: addition.appended }, file);
}

/** Returns a stored block, extended by the new elements. */
function appendToStoredBlock(
  { name, type, parts }: ExtendedBlock,
  { stored, stays, earlier, width }: ExtendedFile,
): ExtendedBlock {
  const { names, begun: earlierNames = [], blocks } = stored.header;
  const { offset, length, begins = earlierNames.flatMap(() => [0, 0]) } = blocks[name]!; // every stored block has a position in the header
  const earlierLength = stored.inEarlierFiles(name);
  const before = isPanel(name) ? (length / names.length) * width : length;
  return {
    name,
    type,
    parts: stays ? parts : [stored[type](name, earlierLength), ...parts],
    ...(earlier > 0
      ? {
          earlier: {
            begins: stays ? [...begins, offset, length - earlierLength] : begins,
            length: before + sumLengths(parts),
          },
        }
      : {}),
  };
}

/** Returns a block whose first elements are the new ones. */
function createNewBlock({ name, type, parts }: ExtendedBlock, { earlier }: ExtendedFile): ExtendedBlock {
  return {
    name,
    type,
    parts,
    earlier: { begins: Array.from({ length: 2 * earlier }, () => 0), length: sumLengths(parts) },
  };
}

function sumLengths(parts: readonly Numbers[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function writeBlock(columns: ColumnsWriter, { name, type, parts }: ExtendedBlock): void {
  const block = columns[type](name);
  let offset = 0;
  for (const part of parts) {
    block.set(part, offset);
    offset += part.length;
  }
}
