import { fc } from '../fast-check.js';
import { expect, test } from 'vitest';
import { createJsonWriter } from '#views/json/writer.js';

test('text written piece by piece equals that of JSON.stringify', () => {
  const piece = fc.oneof(
    fc.record({ kind: fc.constant('string' as const), value: fc.string({ unit: 'grapheme' }) }),
    fc.record({ kind: fc.constant('number' as const), value: fc.double({ noNaN: true, noDefaultInfinity: true }) }),
    fc.record({
      kind: fc.constant('numbers' as const),
      value: fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 }),
    }),
    fc.record({ kind: fc.constant('value' as const), value: fc.jsonValue() }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const json = createJsonWriter(16);
      json.raw('[');
      pieces.forEach(({ kind, value }, i) => {
        if (i > 0) json.raw(',');
        if (kind === 'string') json.string(value);
        else if (kind === 'number') json.number(value);
        else if (kind === 'value') json.value(value);
        else {
          json.raw('[');
          json.numbers(Float64Array.from(value));
          json.raw(']');
        }
      });
      json.raw(']');
      expect(new TextDecoder().decode(json.bytes())).toBe(JSON.stringify(pieces.map(({ value }) => value)));
    }),
  );
});

test('text written between two marks can be written again', () => {
  const json = createJsonWriter(4);
  json.raw('[');
  const from = json.mark();
  json.numbers(Float64Array.of(1, 2.5));
  const to = json.mark();
  json.raw(',');
  json.repeat(from, to);
  json.raw(']');
  expect(new TextDecoder().decode(json.bytes())).toBe('[1,2.5,1,2.5]');
});

test('numbers under keys are members of an object, however many and long the keys are', () => {
  const letters = [3, 300, 9000];
  for (const length of letters) {
    const names = Array.from({ length: 1500 }, (_, i) => `${'é"'.repeat(i % 3)}${'n'.repeat(length)}${i}`);
    const keys = names.map((name) => `,${JSON.stringify(name)}:`);
    for (const count of [0, 1, 2, length > 5000 ? 30 : 1400]) {
      const positions = Int32Array.from({ length: count }, (_, k) => names.length - count + k);
      const values = Float64Array.from(positions, (place) => (place % 7 === 0 ? -0 : 1 / (place - 700.5)));
      const json = createJsonWriter(16);
      for (const end of [',', '']) {
        json.raw('{');
        json.members(keys, positions, values);
        json.raw(`}${end}`);
      }
      const expected = JSON.stringify(
        Object.fromEntries(Array.from(positions, (place, k) => [names[place], values[k]])),
      );
      expect(new TextDecoder().decode(json.bytes())).toBe(`${expected},${expected}`);
    }
  }
});

test('a number that is not finite is refused', () => {
  const refusal = expect.objectContaining({ code: 'NUMERIC_FAILURE' });
  expect(() => createJsonWriter().number(Number.NaN)).toThrow(refusal);
  for (const value of [Number.NaN, -Infinity])
    expect(() =>
      createJsonWriter().members([',"a":', ',"b":'], Int32Array.of(0, 1), Float64Array.of(1, value)),
    ).toThrow(refusal);
  expect(() => createJsonWriter().numbers(Float64Array.of(1, Infinity))).toThrow(refusal);
  expect(() => createJsonWriter().value({ deep: [-Infinity] })).toThrow(refusal);
});
