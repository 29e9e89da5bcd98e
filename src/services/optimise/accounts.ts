import { DataType, type RecordBatch, RecordBatchReader, StructRow, Vector } from 'apache-arrow';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { formatDay } from '#domain/base/time.js';
import { assertAccountColumns, createNestedFields, ENTRY, parseAccountTable } from '#domain/personal/account-table.js';
import { type AccountsFile, type AccountsPart, PART_ACCOUNTS } from '#domain/personal/batch.js';
import { findAccountId, refuseRepeatedAccount, splitLines } from '#domain/personal/read-account.js';
import { isFull } from '#market/panels/market-transfer.js';
import { readParquetLines } from '#market/serve/market-process.js';
import type { ArtifactStore } from '#store/port.js';

/** Disk space in bytes that must be free before accounts are written if their total length is unknown. */
const CLAIMED_BYTES = 2 ** 28;
const END = Buffer.from('\n');
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

export interface ArrowAccounts {
  /** Terms in the metadata of the schema, if present. */
  readonly terms: string | undefined;
  readonly accounts: AsyncIterable<string>;
}

/**
 * Reads accounts from an Arrow stream while it arrives. The stream has one row per account with a list of lots, or one
 * row per lot.
 * @throws Refusal VALIDATION_FAILED
 */
export async function readArrow(bytes: AsyncIterable<Uint8Array>): Promise<ArrowAccounts> {
  const reader = await convertReadFailure(async () => {
    const batchReader = await RecordBatchReader.from(bytes);
    return batchReader.open();
  });
  const { fields, metadata } = reader.schema;
  const header = fields.map(({ name }) => name);
  const batches = (async function* () {
    for (;;) {
      const next = await convertReadFailure(() => reader.next());
      if (next.done === true) return;
      yield next.value as RecordBatch;
    }
  })();
  const isByAccount = header.includes('lots');
  if (isByAccount) assertAccountColumns(header);
  const accounts = isByAccount
    ? readAccountRows(batches)
    : parseAccountTable({ unit: 'row', header, rows: readLotRows(batches) });
  return { terms: metadata.get('terms'), accounts };
}

async function convertReadFailure<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const message = `The bytes are no Arrow stream: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw refuseWithFindings('body', [{ severity: 'error', code: 'UNREADABLE_FILE', path: 'accounts', message }]);
  }
}

async function* readAccountRows(batches: AsyncIterable<RecordBatch>): AsyncGenerator<string> {
  for await (const batch of batches) {
    const columns = batch.schema.fields.map(({ name, type }, position) => ({
      name,
      type,
      values: batch.getChildAt(position)!,
    }));
    for (let row = 0; row < batch.numRows; row++) {
      const cells = columns.map(({ name, type, values }) => [name, convertValue(values.get(row), type)] as const);
      yield JSON.stringify(createNestedFields(Object.fromEntries(cells.filter(([, value]) => value !== null))));
    }
  }
}

async function* readLotRows(batches: AsyncIterable<RecordBatch>) {
  let number = 0;
  for await (const batch of batches) {
    const columns = batch.schema.fields.map(({ type }, position) => ({ type, values: batch.getChildAt(position)! }));
    for (let row = 0; row < batch.numRows; row++)
      yield {
        cells: columns.map(({ type, values }) => {
          const value = convertValue(values.get(row), type);
          if (Array.isArray(value)) return value.map(String).join(ENTRY);
          return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
        }),
        number: ++number,
      };
  }
}

const MS_PER_DAY = 86_400_000;

/** Converts an Arrow value to JSON. A date becomes a day. */
function convertValue(value: unknown, type: DataType): unknown {
  if (value === null || value === undefined) return null;
  if (DataType.isDate(type) || DataType.isTimestamp(type)) return formatDay(Math.floor(Number(value) / MS_PER_DAY));
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Vector) return Array.from(value, (element: unknown) => convertValue(element, value.type));
  if (value instanceof StructRow) {
    const cells = value.toJSON() as Record<string, unknown>; // the row has the members that its schema names
    const childValues = type.children.map(
      ({ name, type: childType }) => [name, convertValue(cells[name], childType)] as const,
    );
    return Object.fromEntries(childValues.filter(([, each]) => each !== null));
  }
  return value;
}

/**
 * Reads accounts from a Parquet file while it arrives. The file has one row per account with a list of lots, or one row
 * per lot.
 * @param take receives the accounts as JSON
 * @throws Refusal VALIDATION_FAILED, STORAGE_FULL
 */
export function readParquet<T>(
  bytes: AsyncIterable<Uint8Array>,
  take: (accounts: AsyncIterable<string>) => Promise<T>,
): Promise<T> {
  return readParquetLines(bytes, async (file, { header, isNested }) => {
    if (isNested) assertAccountColumns(header);
    const lines = splitLines(createReadStream(file));
    return take(
      isNested
        ? readParquetAccountRows(lines)
        : parseAccountTable({ unit: 'row', header, rows: readParquetLotRows(lines) }),
    );
  });
}

/**
 * Yields rows of accounts without their null members. A line that is not JSON is passed on; it is refused when it is
 * read.
 */
async function* readParquetAccountRows(lines: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const lineBytes of lines) {
    const text = lineBytes.toString();
    let account: object;
    try {
      account = JSON.parse(text, (_, value: unknown) => value ?? undefined) as object; // the reader process wrote this line
    } catch {
      yield text;
      continue;
    }
    yield JSON.stringify(createNestedFields(account as Readonly<Record<string, unknown>>));
  }
}

async function* readParquetLotRows(lines: AsyncIterable<Buffer>) {
  let number = 0;
  for await (const lineBytes of lines) {
    const cells = JSON.parse(lineBytes.toString()) as readonly (string | null)[]; // the reader process wrote these lines
    yield { cells: cells.map((cell) => cell ?? ''), number: ++number };
  }
}
