import { DataType, RecordBatchReader, StructRow, Vector, type RecordBatch } from 'apache-arrow';
import { parseAccountTable, assertAccountColumns, createNestedFields } from '#domain/personal/account-table.js';
import { ENTRY } from '#domain/personal/account-columns.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { formatDay } from '#domain/time/days.js';

/** Accounts of an Arrow stream. */
export interface ArrowAccounts {
  /** Terms in the metadata of the schema, if present. */
  readonly terms: string | undefined;
  /** Accounts as JSON. */
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
