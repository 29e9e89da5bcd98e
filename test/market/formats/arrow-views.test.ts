import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  compressionRegistry,
  CompressionType,
  DataType,
  Dictionary,
  Float64,
  Int32,
  List,
  makeBuilder,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
  Table,
  Utf8,
  Utf8View,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';
import { expect, test } from 'vitest';
import { importTable } from '#market/read/import.js';
import { DEFAULT_TERMS } from '#market/mapping/mapped-content.js';
import { createProblems } from '#market/tables/problems.js';

const TEXTS = ['KAA', 'LONGER-THAN-12-BYTES', 'KAA', 'LONGER-THAN-12-BYTES'];
const DAYS = ['2024-03-04', '2024-03-04', '2024-03-05', '2024-03-05'];

function createTexts(type: DataType, texts: readonly string[]): Vector {
  const builder = makeBuilder({ type });
  for (const text of texts) builder.append(text);
  return builder.finish().toVector();
}

/** Encodes bytes as an LZ4 frame of one block: a literal of all bytes that are no trailing repetition of one byte. */
function encodeLz4(bytes: Uint8Array): Uint8Array {
  const last = bytes.at(-1)!;
  let run = 0;
  while (run < bytes.length - 1 && bytes[bytes.length - 1 - run] === last) run++;
  const literal = bytes.subarray(0, bytes.length - run + 1);
  const matched = bytes.length - literal.length - 5;
  if (matched < 4) return createFrame(bytes, 0x80000000);
  const lengths = (rest: number) => [...Array.from({ length: Math.floor(rest / 255) }, () => 255), rest % 255];
  const literalCode = Math.min(15, literal.length);
  const matchCode = Math.min(15, matched - 4);
  const block = Uint8Array.from([
    literalCode * 16 + matchCode,
    ...(literalCode === 15 ? lengths(literal.length - 15) : []),
    ...literal,
    1,
    0,
    ...(matchCode === 15 ? lengths(matched - 4 - 15) : []),
    5 * 16,
    ...bytes.subarray(-5),
  ]);
  return createFrame(block, 0);
}

/** @param mark bit of the size that marks a block of bytes that are not compressed */
function createFrame(block: Uint8Array, mark: number): Uint8Array {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(block.length + mark);
  return Buffer.concat([Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]), size, block, Buffer.alloc(4)]);
}

async function importArrow(table: Table, isFile: boolean, compressionType: CompressionType | null) {
  const decoder = compressionRegistry.get(CompressionType.LZ4_FRAME)!;
  compressionRegistry.set(CompressionType.LZ4_FRAME, { encode: encodeLz4, decode: (bytes) => decoder.decode!(bytes) });
  const folder = await mkdtemp(join(tmpdir(), 'divisor-arrow-'));
  try {
    const writer = new (isFile ? RecordBatchFileWriter : RecordBatchStreamWriter)({ compressionType });
    writer.write(table);
    writer.finish();
    const path = join(folder, 'market');
    await writeFile(path, await writer.toUint8Array());
    const problems = createProblems();
    const uploaded = { path, dataset: 'market', format: 'arrow' } as const;
    const answer = { folder, storedFiles: null, load: false, calendars: { codes: [] } };
    const read = await importTable({ table: uploaded, answer, terms: DEFAULT_TERMS }, problems, () => {});
    return { content: read?.content, findings: problems.findings() };
  } finally {
    compressionRegistry.set(CompressionType.LZ4_FRAME, decoder);
    await rm(folder, { recursive: true, force: true });
  }
}

const createMarket = (identifier: Vector, closes: readonly number[]) =>
  new Table({
    identifier,
    date: createTexts(
      new Utf8(),
      DAYS.slice(0, 1).concat(Array.from({ length: closes.length - 1 }, (_, i) => DAYS[(i + 1) % 4]!)),
    ),
    CLOSE: vectorFromArray(closes, new Float64()),
  });

test.each([
  ['texts in views', () => new Utf8View()],
  ['a dictionary of views', () => new Dictionary(new Utf8View(), new Int32())],
])('%s are read from streams and files, compressed or not', async (_kind, createType) => {
  const table = createMarket(createTexts(createType(), TEXTS), [21.5, 8.125, 21.75, 8.25]);
  for (const isFile of [false, true])
    for (const compression of [null, CompressionType.LZ4_FRAME]) {
      const { content, findings } = await importArrow(table, isFile, compression);
      expect(findings).toEqual([]);
      expect(content!.identifiers).toEqual(['KAA', 'LONGER-THAN-12-BYTES']);
      expect([...content!.fields.get('CLOSE')!]).toEqual([21.5, 8.125, 21.75, 8.25]);
    }
});

test('a refusal names the column and its type', async () => {
  const lists = vectorFromArray(
    [[1], [2], [3], [4]],
    new List({ name: 'item', type: new Float64(), nullable: true } as never),
  );
  const table = createMarket(createTexts(new Utf8View(), TEXTS), [1, 2, 3, 4]).assign(new Table({ LOTS: lists }));
  const { findings } = await importArrow(table, false, null);
  expect(findings).toMatchObject([{ code: 'WRONG_TYPE', path: 'market.LOTS' }]);
  expect(findings[0]!.message).toContain('The column LOTS has the Arrow type List');
});
