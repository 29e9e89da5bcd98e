import { Buffer } from 'node:buffer';
import { deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { MarketContent } from '#market/content/market-content.js';
import { decodeCells, decodeContent, encodeCells } from '#market/content/content-copy.js';
import { seeded } from '../../seeded.js';
import { createCopy } from './copy-of.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';

const CELLS = 60;
const random = seeded(5);
const drawCells = (make: (u: number) => number) => Float64Array.from({ length: CELLS }, () => make(random()));
const punchHoles = (panel: Float64Array) => panel.map((value, i) => (i % 7 === 3 ? Number.NaN : value));
const foreignNaN = Float64Array.of(1.5, 2, 3);
new Uint32Array(foreignNaN.buffer).set([1, 0x7ff80000], 2);

test.each([
  ['cents', drawCells((u) => Math.round(1e6 * u) / 100), 1],
  ['cents with holes', punchHoles(drawCells((u) => Math.round(1e6 * u) / 100)), 1],
  ['six decimals', drawCells((u) => Math.round(1e8 * u - 5e7) / 1e6), 1],
  ['counts', punchHoles(drawCells((u) => Math.round(2e9 * u))), 1],
  ['the largest integers', Float64Array.of(2 ** 31 - 1, 1 - 2 ** 31, 0, -1, 2 ** 31 - 1, 1 - 2 ** 31), 1],
  ['no values', new Float64Array(6).fill(Number.NaN), 1],
  ['seven decimals', drawCells((u) => Math.round(1e8 * u) / 1e7), 2],
  ['whole mantissas', drawCells((u) => u), 2],
  ['one among cents', drawCells((u) => Math.round(1e6 * u) / 100).with(CELLS - 1, 1 / 3), 2],
  ['beyond 32 bits', Float64Array.of(1, 2 ** 31), 3],
  ['values of companies', punchHoles(drawCells((u) => Math.round(2e12 * u))), 3],
  ['cents of large sums, below zero', drawCells((u) => Math.round(1e14 * (u - 0.5)) / 100), 3],
  ['the largest long integers', Float64Array.of(2 ** 51 - 1, 1 - 2 ** 51, Number.NaN, 2 ** 51 - 1, 0, 1 - 2 ** 51), 3],
  ['beyond those', Float64Array.of(1, 2 ** 51), 2],
  ['a negative zero', Float64Array.of(1, -0, 2), 2],
  ['another NaN', foreignNaN, 2],
])('%s have their bits again, as integers (1), as long ones (3) or as doubles (2)', (_, cells, form) => {
  for (const assets of [1, 3, cells.length]) {
    const bytes = encodeCells(cells, assets);
    const secondCells = new Float64Array(cells.length);
    decodeCells(bytes, assets, secondCells);
    expect(Buffer.from(secondCells.buffer).equals(Buffer.from(cells.buffer, cells.byteOffset, cells.byteLength))).toBe(
      true,
    );
    expect(bytes.length).toBe(1 + [4, 8, 7][form - 1]! * cells.length);
  }
});

test('a copy of several pieces has the content that it was made of', () => {
  const content = createContent(NAMES, 4000); // 37 MiB.
  const copiedContent = decodeContent(createCopy(content, 2));
  expect(copiedContent.dates).toEqual(content.dates);
  expect(
    Buffer.from(copiedContent.fields.get('CLOSE')!.buffer).equals(Buffer.from(content.fields.get('CLOSE')!.buffer)),
  ).toBe(true);
});

test('a copy of the version before, of whole panels, is read', () => {
  const content = createContent(['A', 'B'], 3);
  const { identifiers } = content;
  const tables = { columns: [], reference: [], actions: [], universes: [], series: [] };
  const header = { format: 1, dates: [...content.dates], identifiers, tables, fields: ['CLOSE'] };
  const parts = [Buffer.from(JSON.stringify(header)), Buffer.from(content.fields.get('CLOSE')!.buffer)];
  const bytes = parts.flatMap((part) => {
    const deflatedPart = deflateRawSync(part);
    const lengthBytes = Buffer.alloc(4);
    lengthBytes.writeUInt32LE(deflatedPart.length);
    return [lengthBytes, deflatedPart];
  });
  expect(decodeContent(Buffer.concat(bytes))).toEqual(content);
});

const NAMES = Array.from({ length: 1200 }, (_, n) => `N${n}`);

/** Returns a content whose closes have two decimals. */
function createContent(identifiers: readonly string[], days: number): MarketContent {
  const close = new Float64Array(new SharedArrayBuffer(8 * days * identifiers.length));
  for (let cell = 0; cell < close.length; cell++) close[cell] = (100 + (cell % 1013)) / 100;
  return {
    identifiers,
    dates: Int32Array.from({ length: days }, (_, t) => t),
    fields: new Map([['CLOSE', close]]),
    ...NO_TABLES,
  };
}
