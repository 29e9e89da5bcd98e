import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { isFull } from '#market/panels/shared-market.js';
import { PART_ACCOUNTS, type AccountsFile, type AccountsPart } from '#domain/personal/batch-parts.js';
import { refuseWithFindings, Refusal } from '#domain/refusals/refusal.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { findAccountId, refuseRepeatedAccount } from '#domain/personal/account-lines.js';
import type { ArtifactStore } from '#store/port.js';

/** Disk space in bytes that must be free before accounts are written if their total length is unknown. */
const CLAIMED_BYTES = 2 ** 28;
const END = Buffer.from('\n');
/** Number of bytes in one write. */
const PIECE_BYTES = 2 ** 18;

/** Accounts in the order of their arrival. */
export interface UploadedLines {
  /** Lines of JSON. Each line is one account; blank lines are ignored. */
  readonly lines: AsyncIterable<Uint8Array>;
  /** Line number of the first account in the upload. Null if the accounts were not sent as lines of JSON. */
  readonly line: number | null;
}

/**
 * Writes accounts as an artifact and records where each part begins. The memory does not grow with the number of
 * accounts.
 * @throws Refusal VALIDATION_FAILED without accounts and with too many, STORAGE_FULL
 */
export async function storeAccounts(
  uploadedLines: UploadedLines,
  artifacts: Pick<ArtifactStore, 'claim' | 'file' | 'writeFile' | 'remove'>,
): Promise<AccountsFile> {
  const fileName = await artifacts.claim(CLAIMED_BYTES);
  try {
    const path = await artifacts.file({ name: fileName });
    const cutter = createCutter(uploadedLines.line);
    await pipeline(cutter.pieces(uploadedLines.lines), createWriteStream(path, { mode: 0o600 }));
    const parts = cutter.end();
    const { name, bytes, sha256 } = await artifacts.writeFile(path);
    return { file: { name, bytes, sha256 }, parts };
  } catch (failure) {
    if (isFull(failure))
      throw new Refusal('STORAGE_FULL', 'The accounts could not be written.', null, { cause: failure });
    throw failure;
  } finally {
    await artifacts.remove([fileName]);
  }
}

/** Copies lines and cuts them into parts. */
function createCutter(firstLine: number | null) {
  const parts: AccountsPart[] = [];
  let total = 0;
  let line = firstLine ?? 0;
  let openFile = { accounts: 0, bytes: 0, hash: createHash('sha256'), line };

  /** Ids of the accounts, at most `MAX_BATCH_ACCOUNTS` of about 100 bytes each. */
  const ids = new Set<string>();

  /** Returns the line. If an earlier line has the same id, returns a line with an account that will be refused. */
  function replaceRepeated(bytes: Uint8Array): Uint8Array {
    const id = findAccountId(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    if (id === undefined) return bytes;
    if (ids.has(id)) return Buffer.from(refuseRepeatedAccount(id));
    ids.add(id);
    return bytes;
  }

  function close(): void {
    const { hash, ...part } = openFile;
    parts.push({ ...part, sha256: hash.digest('hex'), line: firstLine === null ? null : part.line });
    openFile = { accounts: 0, bytes: 0, hash: createHash('sha256'), line };
  }

  return {
    async *pieces(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
      let keptChunks: Uint8Array[] = [];
      let size = 0;
      for await (const sentBytes of lines) {
        const bytes = replaceRepeated(sentBytes);
        line++;
        const isBlank =
          Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1', 0, 64).trim() === '';
        if (!isBlank) {
          if (++total > LIMITS.MAX_BATCH_ACCOUNTS) throw countRefusal(`more than ${LIMITS.MAX_BATCH_ACCOUNTS}`);
          openFile.accounts++;
        }
        openFile.hash.update(bytes).update(END);
        openFile.bytes += bytes.length + 1;
        keptChunks.push(bytes, END);
        size += bytes.length + 1;
        if (openFile.accounts === PART_ACCOUNTS) close();
        if (size < PIECE_BYTES) continue;
        yield Buffer.concat(keptChunks);
        [keptChunks, size] = [[], 0];
      }
      if (size > 0) yield Buffer.concat(keptChunks);
    },
    end(): readonly AccountsPart[] {
      if (total === 0) throw countRefusal('0');
      if (openFile.accounts > 0) close();
      return parts;
    },
  };
}

const countRefusal = (count: string): Refusal =>
  refuseWithFindings('body', [
    {
      severity: 'error',
      code: 'OUT_OF_RANGE',
      path: 'accounts',
      message: `The body has ${count} accounts; 1 to ${LIMITS.MAX_BATCH_ACCOUNTS} are accepted.`,
    },
  ]);
