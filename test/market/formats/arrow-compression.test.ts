import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { expect, test } from 'vitest';
import { decodeLz4Frame } from '#market/formats/arrow.js';
import { createProblems } from '#market/tables/problems.js';
import { importTable } from '#market/read/import.js';
import { DEFAULT_TERMS } from '#market/mapping/mapped-content.js';

/** Streams that pyarrow wrote, in base64. That by LZ4 has ten closes of 7.5 of security A from 2024-01-01 on. */
const COMPRESSED = {
  LZ4: [
    '/////9gAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAMAAAB0AAAAOAAAAAQAAACo////AAABAxAA',
    'AAAcAAAABAAAAAAAAAAFAAAAQ0xPU0UABgAIAAYABgAAAAAAAgDY////AAABBRAAAAAYAAAABAAAAAAAAAAEAAAAZGF0ZQAAAADE////',
    'EAAUAAgABgAHAAwAAAAQABAAAAAAAAEFEAAAACAAAAAEAAAAAAAAAAoAAABpZGVudGlmaWVyAAAEAAQABAAAAAAAAAD/////GAEAABQA',
    'AAAAAAAADAAYAAYABQAIAAwADAAAAAADBAAcAAAAOAEAAAAAAAAAAAAADAAcABAABAAIAAwADAAAAKgAAAAcAAAAFAAAAAoAAAAAAAAA',
    'AAAAAAQABAAEAAAACAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEMAAAAAAAAASAAAAAAAAAAhAAAAAAAAAHAAAAAAAAAAAAAAAAAA',
    'AABwAAAAAAAAAEMAAAAAAAAAuAAAAAAAAABMAAAAAAAAAAgBAAAAAAAAAAAAAAAAAAAIAQAAAAAAACoAAAAAAAAAAAAAAAMAAAAKAAAA',
    'AAAAAAAAAAAAAAAACgAAAAAAAAAAAAAAAAAAAAoAAAAAAAAAAAAAAAAAAAAsAAAAAAAAAAQiTRhgQIIsAACAAAAAAAEAAAACAAAAAwAA',
    'AAQAAAAFAAAABgAAAAcAAAAIAAAACQAAAAoAAAAAAAAAAAAAAAAKAAAAAAAAAAQiTRhgQIIKAACAQUFBQUFBQUFBQQAAAAAAAAAAAAAA',
    'LAAAAAAAAAAEIk0YYECCLAAAgAAAAAAKAAAAFAAAAB4AAAAoAAAAMgAAADwAAABGAAAAUAAAAFoAAABkAAAAAAAAAAAAAAAAZAAAAAAA',
    'AAAEIk0YYECCNQAAAKUyMDI0LTAxLTAxCgAVMgoAFTMKABU0CgAVNQoAFTYKABU3CgAVOAoAsDkyMDI0LTAxLTEwAAAAAAAAAABQAAAA',
    'AAAAAAQiTRhgQIITAAAAEQABACEeQAcADwgAK1AAAAAeQAAAAAAAAAAAAAD/////AAAAAA==',
  ].join(''),
  ZSTD: [
    '/////3gAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAEAAAAUAAAAEAAUAAgABgAHAAwAAAAQ',
    'ABAAAAAAAAEDEAAAABwAAAAEAAAAAAAAAAUAAABDTE9TRQAGAAgABgAGAAAAAAACAAAAAAD/////oAAAABQAAAAAAAAADAAYAAYA',
    'BQAIAAwADAAAAAADBAAcAAAAKAAAAAAAAAAAAAAADAAeABAABAAIAAwADAAAAFAAAAAkAAAAGAAAAAIAAAAAAAAAAAAAAAAABgAI',
    'AAcABgAAAAAAAAECAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIQAAAAAAAAAAAAAAAQAAAAIAAAAAAAAAAAAAAAAAAAAQAAAA',
    'AAAAACi1L/0gEIEAAAAAAAAAAPg/AAAAAAAABEAAAAAAAAAA/////wAAAAA=',
  ].join(''),
};

async function importArrow(bytes: Uint8Array) {
  const folder = await mkdtemp(join(tmpdir(), 'divisor-arrow-'));
  const path = join(folder, 'market');
  const problems = createProblems();
  try {
    await writeFile(path, bytes);
    const table = { path, dataset: 'market', format: 'arrow' } as const;
    const answer = { folder, storedFiles: null, load: false, calendars: { codes: [] } };
    const read = await importTable({ table, answer, terms: DEFAULT_TERMS }, problems, () => {});
    return { closes: read && [...read.content.fields.get('CLOSE')!], findings: problems.findings() };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('a stream compressed by ZSTD is refused with the readable formats', async () => {
  const { findings } = await importArrow(Buffer.from(COMPRESSED.ZSTD, 'base64'));
  expect(findings).toMatchObject([{ code: 'UNREADABLE_FILE', path: 'market' }]);
  expect(findings[0]!.message).toMatch(/compressed by ZSTD.*Uncompressed.*Parquet/);
});

test('a stream compressed by LZ4 is read, and a damaged one is reported', async () => {
  const bytes = Buffer.from(COMPRESSED.LZ4, 'base64');
  expect(await importArrow(bytes)).toEqual({ closes: Array.from({ length: 10 }, () => 7.5), findings: [] });
  const damagedBytes = Buffer.from(bytes);
  damagedBytes[bytes.indexOf(Buffer.from([0x04, 0x22, 0x4d, 0x18]))] = 0;
  expect((await importArrow(damagedBytes)).findings).toMatchObject([{ code: 'UNREADABLE_FILE', path: 'market' }]);
});

test('a stream that is not compressed is read', async () => {
  const table = tableFromArrays({ identifier: ['A'], date: ['2024-01-02'], CLOSE: Float64Array.of(1.5) });
  expect(await importArrow(tableToIPC(table, 'stream'))).toEqual({ closes: [1.5], findings: [] });
});

/** Returns an LZ4 frame of blocks with at most 64 KiB each. */
const createFrame = (...blocks: readonly Buffer[]) =>
  Buffer.concat([
    Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0]),
    ...blocks.flatMap((block) => [encodeUint32(block.length), block]),
    encodeUint32(0),
  ]);

function encodeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

const decodeFrame = (frame: Uint8Array) => decodeLz4Frame(frame, 1000);

/** Block with one literal, then a match of nine bytes that overlaps it, then another literal. */
const OVERLAPPING = Buffer.from([0x15, 0x61, 1, 0, 0x10, 0x62]);

test('a frame decodes to its sequences by hand, also in later blocks', () => {
  const text = `${'a'.repeat(10)}b`;
  expect(Buffer.from(decodeFrame(createFrame(OVERLAPPING))).toString()).toBe(text);
  const backReference = Buffer.from([0x04, 11, 0, 0x10, 0x63]); // a match of eight bytes in the previous block, and one literal
  expect(Buffer.from(decodeFrame(createFrame(OVERLAPPING, backReference))).toString()).toBe(`${text}${'a'.repeat(8)}c`);
  // 15 + 3, and 4 + 15 + 255 + 2.
  const longBlock = Buffer.from([0xff, 3, ...Buffer.from('x'.repeat(18)), 1, 0, 255, 2, 0x00]);
  expect(decodeFrame(createFrame(longBlock))).toEqual(new Uint8Array(18 + 276).fill(0x78));
});

test.each([
  ['no frame', Buffer.from('PAR1'), 'no LZ4 frame'],
  ['cut short', createFrame(OVERLAPPING).subarray(0, 14), 'cut short'],
  ['a match before the beginning', createFrame(Buffer.from([0x10, 0x61, 9, 0, 0x10, 0x62])), 'damaged'],
  [
    'more than is read',
    createFrame(Buffer.from([0x1f, 0x61, 1, 0, 255, 255, 255, 255, 0, 0x10, 0x62])),
    'more than is read',
  ],
  ['more literals than there are', createFrame(Buffer.from([0x50, 0x61])), 'damaged'],
  [
    'a match beyond the room of a block',
    createFrame(Buffer.from([0x1f, 0x61, 1, 0, ...Buffer.alloc(300, 255), 0])),
    'damaged',
  ],
])('bytes with %s are refused', (_what, bytes, message) => {
  expect(() => decodeFrame(bytes)).toThrow(message);
});
