import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { createNumberText } from '#kernels/engines/number-text.js';

const text = createNumberText();

function writeNumbers(values: readonly number[]): string {
  const parts: Buffer[] = [];
  text.begin((part) => parts.push(Buffer.from(part)));
  expect(text.numbers(Float64Array.from(values), 0, values.length)).toBe(true);
  text.flush();
  return Buffer.concat(parts).toString('latin1');
}

const stringifyValues = (values: readonly number[]): string => JSON.stringify(values).slice(1, -1);

const anyDouble = fc
  .bigInt({ min: 0n, max: 2n ** 64n - 1n })
  .map((bits) => new Float64Array(BigUint64Array.of(bits).buffer)[0]!)
  .filter(Number.isFinite);

function listNeighbours(value: number): number[] {
  const cell = new Float64Array([value]);
  const bits = new BigUint64Array(cell.buffer);
  const neighbours = [-1n, 0n, 1n].map(
    (step) => new Float64Array(BigUint64Array.of(BigInt.asUintN(64, bits[0]! + step)).buffer)[0]!,
  );
  return neighbours.filter(Number.isFinite);
}

describe('the text of a number is that of JSON.stringify', () => {
  test('for doubles of any bits', () => {
    fc.assert(
      fc.property(
        fc.array(anyDouble, { minLength: 1, maxLength: 600 }),
        (values) => void expect(writeNumbers(values)).toBe(stringifyValues(values)),
      ),
      { numRuns: 300 },
    );
  });

  test('for decimals as people write them', () => {
    const decimals = fc
      .tuple(fc.integer(), fc.integer({ min: -12, max: 12 }))
      .map(([digits, exponent]) => Number(`${digits}e${exponent}`));
    fc.assert(
      fc.property(
        fc.array(decimals, { minLength: 1, maxLength: 600 }),
        (values) => void expect(writeNumbers(values)).toBe(stringifyValues(values)),
      ),
    );
  });

  test('for every power of two and of ten and their neighbours', () => {
    const twos = Array.from({ length: 2098 }, (_, k) => 2 ** (k - 1074));
    const tens = Array.from({ length: 632 }, (_, k) => Number(`1e${k - 323}`));
    for (const value of [...twos, ...tens]) {
      const values = listNeighbours(value).flatMap((near) => [near, -near]);
      expect(writeNumbers(values)).toBe(stringifyValues(values));
    }
  });

  test('for whole numbers, zeros and the limits of each notation', () => {
    const values = [
      0,
      -0,
      1,
      -1,
      10,
      100,
      2 ** 53,
      2 ** 53 + 2,
      1e20,
      1e21,
      Number('999999999999999900000'),
      1e-6,
      1e-7,
      1e-6 * (1 - 2 ** -52),
      5e-324,
      Number.MAX_VALUE,
      0.1,
      1 / 3,
    ];
    expect(writeNumbers(values)).toBe(stringifyValues(values));
  });
});

test('a number that is not finite is reported and not written', () => {
  const parts: string[] = [];
  text.begin((part) => parts.push(Buffer.from(part).toString()));
  expect([NaN, Infinity, -Infinity].map((value) => text.number(value))).toEqual([false, false, false]);
  expect(text.numbers(Float64Array.of(NaN), 0, 1)).toBe(false);
  text.flush();
  expect(parts).toEqual([]);
});

test('text longer than the window is written completely', () => {
  const parts: Buffer[] = [];
  text.begin((part) => parts.push(Buffer.from(part)));
  const longBytes = new TextEncoder().encode('x'.repeat(1 << 19));
  expect(text.ascii('before')).toBe(true);
  text.bytes(longBytes);
  expect([text.ascii('after'), text.ascii('ä')]).toEqual([true, false]);
  text.flush();
  expect(Buffer.concat(parts).toString()).toBe(`before${'x'.repeat(1 << 19)}after`);
});

test('all output before the end consists of complete words of eight bytes, in order', () => {
  const parts: Buffer[] = [];
  text.begin((part) => parts.push(Buffer.from(part)));
  const values = Float64Array.from({ length: 40_000 }, (_, i) => Math.sin(i));
  for (let from = 0; from < values.length; from += 700) {
    text.numbers(values, from, Math.min(values.length, from + 700));
    text.ascii('\n');
  }
  text.flush();
  const lines = Buffer.concat(parts).toString('latin1').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(`[${line}]`) as number[]).flat()).toEqual([...values]);
  expect(parts.length).toBeGreaterThan(2);
  expect(parts.slice(0, -1).filter(({ length }) => length % 8 !== 0)).toEqual([]);
});
