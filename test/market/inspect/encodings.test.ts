import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { createProblems } from '#market/tables/problems.js';
import { convertToUtf8 } from '#market/formats/csv.js';
import { inspect } from '#market/read/inspection.js';
import type { Answers } from '#market/read/questions.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-encodings-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const ROWS = 'Datum;Name;Schlusskurs;St\u00fccke\n02.01.2024;SAP;14,82;1.250\n15.01.2024;SAP;15,5;900\n';
const encodeLatin1 = (text: string) => Buffer.from(text, 'latin1');
const encodeUtf16 = (text: string, isBigEndian = false) => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
  return isBigEndian ? bytes.swap16() : bytes;
};

async function read(bytes: Uint8Array, answers: Answers = {}) {
  const folder = join(root, String((folders += 1)));
  await writeFiles(folder, { 'kurse.csv': Buffer.from(bytes) });
  const inspectionTerms = { tables: {}, mapping: Mapping.parse({}) };
  const files = await listFolderFiles(folder, inspectionTerms, createLocations([folder]), createProblems());
  const { preview, mapping, unsure } = await inspect({ kind: 'files', files }, { answers });
  return { bars: preview.data, mapping, asked: unsure.filter(({ field }) => field === 'encoding') };
}

const BARS = [
  ['SAP', '2024-01-02', 14.82, 1250],
  ['SAP', '2024-01-15', 15.5, 900],
];

test.each([
  ['UTF-16', encodeUtf16(ROWS)],
  ['UTF-16 of the other order of bytes', encodeUtf16(ROWS, true)],
  ['UTF-8 with a mark', Buffer.from(`\ufeff${ROWS}`)],
  ['UTF-8', Buffer.from(ROWS)],
])('%s is read without a question', async (_name, bytes) => {
  const { bars, mapping, asked } = await read(bytes);
  expect([bars, mapping.encoding, asked]).toEqual([BARS, null, []]);
});

test('text that is not UTF-8 is read as windows-1252, and that is reported', async () => {
  const { bars, mapping, asked } = await read(encodeLatin1(ROWS));
  expect([bars, mapping.encoding]).toEqual([BARS, 'windows-1252']);
  expect(asked).toMatchObject([{ taken: 'windows-1252', required: false }]);
  expect((await read(encodeLatin1(ROWS), { encoding: 'windows-1252' })).asked).toEqual([]);
});

test.each([
  ['windows-1252', [0x80, 0x93, 0xfc, 0x9f], '\u20ac\u201c\u00fc\u0178'],
  ['windows-1250', [0xb3, 0xf3, 0x9f], '\u0142\u00f3\u017a'],
  ['utf-16be', [0x20, 0xac, 0x00, 0x41], '\u20acA'],
] as const)('%s is decoded by its table, wherever its bytes are cut', async (encoding, bytes, text) => {
  for (let size = 1; size <= bytes.length; size++) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      Uint8Array.from(bytes.slice(i * size, (i + 1) * size)),
    );
    const decodedPieces: Uint8Array[] = [];
    for await (const piece of convertToUtf8(pieces, encoding)) decodedPieces.push(piece);
    expect(Buffer.concat(decodedPieces).toString()).toBe(text);
  }
});
