import { serialize } from 'node:v8';
import { expect, test } from 'vitest';
import { decodeState, encodeState } from '#workers/runs/backtest.js';
import { fc } from '../../fast-check.js';

const STATE = {
  numbers: [0, -0, 1, -7, 2 ** 40, 0.1, Infinity, Number.NaN],
  texts: ['', 'Übertrag', '…', '\u{1F600}', '\uD800'],
  others: [null, undefined, true, false, [], {}, [[]]],
  byKey: new Map([
    ['b', { list: [1] }],
    ['a', { list: [] }],
  ]),
  arrays: [new Float64Array([-0, 0.5]), Int32Array.of(-1), Int8Array.of(1, -1, 0), new Uint8Array(0)],
};

test('a state is read as it was written, also from the middle of other bytes', () => {
  const bytes = encodeState(STATE);
  const shiftedBytes = new Uint8Array(bytes.length + 1);
  shiftedBytes.set(bytes, 1);
  expect(decodeState(bytes)).toStrictEqual(STATE);
  expect(decodeState(shiftedBytes.subarray(1))).toStrictEqual(STATE);
});

test('a range of an array is written without the rest of its memory', () => {
  const weights = new Float64Array(new SharedArrayBuffer(800)).fill(0.25);
  expect(encodeState(weights.subarray(3, 5))).toEqual(encodeState(Float64Array.of(0.25, 0.25)));
});

test('NaN is written in one bit pattern', () => {
  const [otherNaN] = new Float64Array(BigUint64Array.of(0xfff8_0000_0000_0001n).buffer);
  expect(encodeState(otherNaN)).toEqual(encodeState(Number.NaN));
});

test('numbers and texts that differ have different bytes', () => {
  fc.assert(
    fc.property(fc.array(fc.double()), fc.array(fc.double()), (a, b) => {
      expect(Buffer.compare(encodeState(a), encodeState(b)) === 0).toBe(
        a.length === b.length && a.every((value, i) => Object.is(value, b[i])),
      );
    }),
  );
});

test.each([[new Date(0)], [new Set([1])], [1n], [() => 1], [new Uint16Array(1)]])('%s is refused', (value) => {
  expect(() => encodeState({ list: [value] })).toThrow(TypeError);
});

test('bytes of another format are refused', () => {
  expect(() => decodeState(serialize({ format: 14 }))).toThrow();
  expect(() => decodeState(encodeState(STATE).subarray(0, -1))).toThrow();
  expect(() => decodeState(new Uint8Array(0))).toThrow();
});
