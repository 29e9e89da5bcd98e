import { createHash } from 'node:crypto';
import { statSync, type BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { CheckedFiles, HashedFile } from '#jobs/tasks/files.js';
import type { NewFile } from '#store/access/new-file.js';
import { hashOnce } from './run-file.js';

/** Smaller files are hashed again: they are in memory, and it takes as long as it does to remember them. */
export const REMEMBERED_BYTES_MIN = 256 * 1024;

/** Files change their time by steps, of two seconds at most (FAT): a change within the step of the last one shows in no time. */
const TIME_STEP_MS = 3000;

/** Words of 64 bits that are kept of a digest. */
const WORDS = 2;
/** Words of a row: the next word of a digest says which row it is in. */
const ROW = 8 * WORDS;
const WORD_BYTES = 8;

/** What tells that a file is the one that it was. The time of its entry does not: another name changes it. */
type FileState = Pick<BigIntStats, 'dev' | 'ino' | 'size' | 'mtimeNs'>;

/**
 * Whether a stored file has the content that was written. One that this process has written or hashed, and nobody has
 * written to since, is not read.
 * @param look called for each part that is read; what it throws ends the reading
 * @param isKept whether it is remembered, asked once it is read and has the content
 * @cost a look at the file, or one read of it
 */
export function hasContent(
  { path, sha256 }: HashedFile,
  checked: CheckedFiles | undefined,
  look: () => void,
  isKept: () => boolean = () => true,
): boolean {
  const settledBefore = BigInt(Date.now() - TIME_STEP_MS) * 1_000_000n;
  const state = stateOf(path); // Before it is read: no later change is missed.
  if (state === undefined) return false;
  if (checked !== undefined && remembers(checked, placeOf(checked, sha256, state))) return true;
  if (hashOnce(path, Number(state.size), look) !== sha256) return false;
  if (checked !== undefined && state.mtimeNs < settledBefore && isKept()) remember(checked, sha256, state);
  return true;
}

/** Undefined of a file that is not there, or that the system tells nothing of. */
function stateOf(path: string): FileState | undefined {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}

/**
 * Remembers a file that has just been written, whose time is set back by two steps: whoever writes to it from now on gives
 * it another, and it counts as settled for whoever reads it next.
 */
export async function rememberWritten(
  checked: CheckedFiles,
  { file, bytes, sha256 }: Omit<NewFile, 'name'>,
): Promise<void> {
  if (bytes < REMEMBERED_BYTES_MIN) return;
  const state = await setBack(file);
  if (state?.size === BigInt(bytes)) remember(checked, sha256, state);
}

/** Undefined where the file system takes no times. */
async function setBack(file: FileHandle): Promise<FileState | undefined> {
  const time = new Date(Date.now() - 2 * TIME_STEP_MS);
  try {
    await file.utimes(time, time);
    return await file.stat({ bigint: true });
  } catch {
    return undefined; // It will be hashed.
  }
}

function remembers(checked: CheckedFiles, { row, words }: Place): boolean {
  for (let at = row; at < row + ROW; at += WORDS)
    if (checked[at] === words[0] && checked[at + 1] === words[1]) return true;
  return false;
}

/** Threads write at the same time without waiting: what comes of two digests in one place is the digest of nothing. */
function remember(checked: CheckedFiles, sha256: string, state: FileState): void {
  if (state.size < REMEMBERED_BYTES_MIN) return;
  const place = placeOf(checked, sha256, state);
  if (remembers(checked, place)) return;
  const { row, words } = place;
  let at = row;
  while (at < row + ROW && checked[at] !== 0n) at += WORDS;
  if (at === row + ROW) at = row + WORDS * Number(words[0] % BigInt(ROW / WORDS)); // One of them, as chance has it.
  checked.set(words, at);
}

/** The digest of a content in a file of a state, and the row that it is in. */
interface Place {
  readonly row: number;
  readonly words: readonly [bigint, bigint];
}

function placeOf(checked: CheckedFiles, sha256: string, { dev, ino, size, mtimeNs }: FileState): Place {
  const digest = createHash('sha256').update([sha256, dev, ino, size, mtimeNs].join(' ')).digest();
  const words = [digest.readBigUInt64LE(0), digest.readBigUInt64LE(WORD_BYTES)] as const;
  const row = ROW * Number(digest.readBigUInt64LE(WORDS * WORD_BYTES) % BigInt(checked.length / ROW));
  return { row, words };
}
