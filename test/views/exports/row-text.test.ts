import { expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { MISSING_INTEGER, type NamedColumn } from '#views/formats/batch.js';
import { createRowWriter, formatCsvText } from '#views/formats/text.js';
import { seeded } from '../../seeded.js';

test('null is a marker among whole numbers and NaN among others: no number is mistaken for it', () => {
  const pieces: Uint8Array[] = [];
  const formatWord = (text: string) => text;
  const writer = createRowWriter(
    { rowStart: '', separator: ',', rowEnd: '\n', none: 'null', date: formatWord, text: formatWord },
    { append: (piece) => void pieces.push(piece.slice()) },
  );
  writer.rows(
    [
      { name: 'count', type: 'count', values: Int32Array.of(7, MISSING_INTEGER, -7) },
      { name: 'number', type: 'number', values: Float64Array.of(MISSING_INTEGER, 1.5, NaN) },
    ],
    3,
  );
  writer.end();
  expect(Buffer.concat(pieces).toString()).toBe('7,-2147483648\nnull,1.5\n-7,null\n');
});

/** Returns rows as the CSV writer formats them. The rows are written in batches of the given size. */
function writeRows(columns: readonly NamedColumn[], count: number, batch = count): string {
  const pieces: Uint8Array[] = [];
  const writer = createRowWriter(
    { rowStart: '', separator: ',', rowEnd: '\n', none: '', date: (text) => text, text: formatCsvText },
    { append: (piece) => void pieces.push(piece.slice()) },
  );
  for (let from = 0; from < count; from += batch) {
    const to = Math.min(count, from + batch);
    const createPart = ({ values, ...column }: NamedColumn): NamedColumn => ({
      ...column,
      values: 'codes' in values ? { ...values, codes: values.codes.subarray(from, to) } : values.subarray(from, to),
    });
    writer.rows(columns.map(createPart), to - from);
  }
  writer.end();
  return Buffer.concat(pieces).toString();
}

function joinRows(columns: readonly NamedColumn[], count: number): string {
  const formatCell = ({ type, values }: NamedColumn, row: number): string => {
    if ('codes' in values) return values.codes[row]! < 0 ? '' : formatCsvText(values.texts[values.codes[row]!]!);
    const value = values[row]!;
    if (Number.isNaN(value) || (values instanceof Int32Array && value === MISSING_INTEGER)) return '';
    return type === 'date' ? formatDay(value) : String(value + 0);
  };
  return Array.from(
    { length: count },
    (_, row) => `${columns.map((column) => formatCell(column, row)).join(',')}\n`,
  ).join('');
}

/** Returns one column per type. Both kinds of numeric columns repeat values often. */
function createRandomColumns(count: number, texts: readonly string[]): NamedColumn[] {
  const random = seeded(count);
  const numbers = Float64Array.from({ length: count }, (_, row) =>
    row % 7 === 3 ? NaN : (random() - 0.5) * 10 ** (row % 40),
  );
  const otherNumbers = numbers.map((value) => (random() < 0.5 ? value : random() < 0.2 ? 0 : -value));
  const codes = Int32Array.from({ length: count }, () => Math.floor(random() * (texts.length + 1)) - 1);
  return [
    {
      name: 'date',
      type: 'date',
      values: Int32Array.from(codes, (_, row) => (row % 11 === 5 ? MISSING_INTEGER : 18_000 + (row >> 2))),
    },
    { name: 'name', type: 'text', values: { codes, texts } },
    { name: 'number', type: 'number', values: numbers },
    { name: 'other', type: 'number', values: otherNumbers },
    { name: 'count', type: 'count', values: codes.map((code) => (code === 2 ? MISSING_INTEGER : code - 3)) },
    { name: 'again', type: 'text', values: { codes: codes.toReversed(), texts } },
  ];
}

const SHORT_TEXTS = ['A', '', 'B "quoted"', '=1+1', 'größer'];
test.each([
  ['short texts', 5000, SHORT_TEXTS],
  [
    'texts that need more room than there is for all of them',
    5000,
    Array.from({ length: 3000 }, (_, i) => `${i}-${'x'.repeat(i % 200)}`),
  ],
  [
    'texts of a chunk that there is no room for',
    2000,
    Array.from({ length: 2000 }, (_, i) => `${i}-${'y'.repeat(300)}`),
  ],
  ['a text that is longer than any cell', 2000, [...SHORT_TEXTS, 'z'.repeat(9000)]],
])('rows of columns are their cells, joined: %s', (_what, count, texts) => {
  const columns = createRandomColumns(count, texts);
  expect(writeRows(columns, count) === joinRows(columns, count)).toBe(true);
  expect(writeRows(columns, count, 777) === joinRows(columns, count)).toBe(true);
});

test('more columns than a batch are written cell by cell', () => {
  const columns = [1, 2, 3].flatMap(() => createRandomColumns(100, SHORT_TEXTS));
  expect(writeRows(columns, 100)).toBe(joinRows(columns, 100));
});

test.each([0, 1, 2999])('an infinite number in row %i is refused', (row) => {
  const values = new Float64Array(3000).fill(0.5);
  values[row] = -Infinity;
  expect(() => writeRows([{ name: 'number', type: 'number', values }], 3000)).toThrow('-Infinity');
});
