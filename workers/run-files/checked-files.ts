import { createHash } from 'node:crypto';
import { statSync, type BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { CheckedFiles, HashedFile } from '#jobs/tasks/files.js';
import type { NewFile } from '#store/access/new-file.js';
import { hashOnce } from './run-file.js';

/**
 * Minimum size of a file that is recorded. A smaller file is hashed again, because hashing it is as fast as a look-up.
 */
export const REMEMBERED_BYTES_MIN = 256 * 1024;

/**
 * Resolution of file times in ms. It is at most two seconds (FAT). A second change within one step may leave the time
 * unchanged.
 */
const TIME_STEP_MS = 3000;

/** Number of 64-bit words of a digest that are stored. */
const DIGEST_WORDS = 2;
/** Number of words per row. A further word of the digest selects the row. */
const ROW_WORDS = 8 * DIGEST_WORDS;
const WORD_BYTES = 8;

/**
 * Metadata that identifies the state of a file. It does not include the change time, because a new hard link alters it.
 */
type FileState = Pick<BigIntStats, 'dev' | 'ino' | 'size' | 'mtimeNs'>;

/**
 * Returns true if a stored file has the recorded content. If this process wrote or hashed the file and it has not
 * changed since, the file is not read.
 * @param look called for each part that is read; throws to end the read
 * @param isKept called after a read with the right content; returns true to record the file
 * @cost a stat of the file, or one read of it
 */
export function hasContent(
  { path, sha256 }: HashedFile,
  checked: CheckedFiles | undefined,
  look: () => void,
  isKept: () => boolean = () => true,
): boolean {
  const settledBefore = BigInt(Date.now() - TIME_STEP_MS) * 1_000_000n;
  const state = findState(path); // taken before the read, so that no later change is missed
  if (state === undefined) return false;
  if (checked !== undefined && isRemembered(checked, computeDigestSlot(checked, sha256, state))) return true;
  if (hashOnce(path, Number(state.size), look) !== sha256) return false;
  if (checked !== undefined && state.mtimeNs < settledBefore && isKept()) remember(checked, sha256, state);
  return true;
}

/** Returns the state of a file. Returns undefined if the file is absent or the system does not report its state. */
function findState(path: string): FileState | undefined {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}

/**
 * Records a new file and sets its time back by two steps. A later write then changes the time, and the next reader can
 * rely on it.
 */
export async function rememberWritten(
  checked: CheckedFiles,
  { file, bytes, sha256 }: Omit<NewFile, 'name'>,
): Promise<void> {
  if (bytes < REMEMBERED_BYTES_MIN) return;
  const state = await resetClock(file);
  if (state?.size === BigInt(bytes)) remember(checked, sha256, state);
}

/** Sets the time of a file back. Returns undefined if the file system does not allow it. */
async function resetClock(file: FileHandle): Promise<FileState | undefined> {
  const time = new Date(Date.now() - 2 * TIME_STEP_MS);
  try {
    await file.utimes(time, time);
    return await file.stat({ bigint: true });
  } catch {
    return undefined; // the next reader hashes the file
  }
}

function isRemembered(checked: CheckedFiles, { row, words }: DigestSlot): boolean {
  for (let position = row; position < row + ROW_WORDS; position += DIGEST_WORDS)
    if (checked[position] === words[0] && checked[position + 1] === words[1]) return true;
  return false;
}

/**
 * Records a digest. Threads write concurrently without locks. If the words of two digests mix, the result matches no
 * file.
 */
function remember(checked: CheckedFiles, sha256: string, state: FileState): void {
  if (state.size < REMEMBERED_BYTES_MIN) return;
  const digestSlot = computeDigestSlot(checked, sha256, state);
  if (isRemembered(checked, digestSlot)) return;
  const { row, words } = digestSlot;
  let position = row;
  while (position < row + ROW_WORDS && checked[position] !== 0n) position += DIGEST_WORDS;
  if (position === row + ROW_WORDS) position = row + DIGEST_WORDS * Number(words[0] % BigInt(ROW_WORDS / DIGEST_WORDS)); // one of the slots of the row, at random
  checked.set(words, position);
}

/** Row and words of the digest of a content and a file state. */
interface DigestSlot {
  readonly row: number;
  readonly words: readonly [bigint, bigint];
}

function computeDigestSlot(checked: CheckedFiles, sha256: string, { dev, ino, size, mtimeNs }: FileState): DigestSlot {
  const digest = createHash('sha256').update([sha256, dev, ino, size, mtimeNs].join(' ')).digest();
  const words = [digest.readBigUInt64LE(0), digest.readBigUInt64LE(WORD_BYTES)] as const;
  const row =
    ROW_WORDS * Number(digest.readBigUInt64LE(DIGEST_WORDS * WORD_BYTES) % BigInt(checked.length / ROW_WORDS));
  return { row, words };
}
