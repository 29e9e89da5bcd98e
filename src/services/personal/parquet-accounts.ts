import { createReadStream } from 'node:fs';
import { splitLines } from '#domain/personal/account-lines.js';
import { parseAccountTable, assertAccountColumns, createNestedFields } from '#domain/personal/account-table.js';
import { readParquetLines } from '#market/process/market-process.js';

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
      isNested ? readAccountRows(lines) : parseAccountTable({ unit: 'row', header, rows: readLotRows(lines) }),
    );
  });
}

/**
 * Yields rows of accounts without their null members. A line that is not JSON is passed on; it is refused when it is
 * read.
 */
async function* readAccountRows(lines: AsyncIterable<Buffer>): AsyncGenerator<string> {
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

async function* readLotRows(lines: AsyncIterable<Buffer>) {
  let number = 0;
  for await (const lineBytes of lines) {
    const cells = JSON.parse(lineBytes.toString()) as readonly (string | null)[]; // the reader process wrote these lines
    yield { cells: cells.map((cell) => cell ?? ''), number: ++number };
  }
}
