import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { scanJson } from '#domain/base/json.js';
import { IS_SOAK } from '../../soak.js';

function isParsed(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Checks that JSON.parse accepts every text that the scan accepts, and refuses every text that the scan reports as
 * malformed. If the scan refuses a text for another reason, JSON.parse may accept it.
 */
function expectAgreement(text: string): void {
  const { fault } = scanJson(text);
  if (fault === undefined) expect(isParsed(text)).toBe(true);
  else if (!/twice|__proto__/.test(fault.reason)) expect(isParsed(text)).toBe(false);
}

describe('the scan agrees with JSON.parse', () => {
  test('on every value written as JSON, with any white space', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6 }),
        fc.constantFrom(undefined, 1, '\t', ' \n\r'.slice(0, 1)),
        (value, space) => {
          const { fault } = scanJson(JSON.stringify(value, null, space));
          expect(fault === undefined || fault.reason.includes('__proto__')).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('on texts of JSON characters put together at random', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '"',
      '"a"',
      '"b"',
      '\\',
      '\\u00e9',
      '\\n',
      '\\x',
      'true',
      'null',
      'nul',
      '0',
      '-',
      '1',
      '01',
      '.5',
      '1.',
      '1e',
      '1e+5',
      'E',
      '+',
      ' ',
      '\n',
      '\u0001',
      '\u00a0',
      '\ufeff',
      'é',
      '😀',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        expectAgreement(parts.join(''));
      }),
      { numRuns: IS_SOAK ? 20_000 : 2_000 },
    );
  });

  test('on a valid text with one character changed, added or removed', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 4 }),
        fc.nat(),
        fc.constantFrom('', ',', '"', '}', ']', '\\', '0', 'e', '-', '\u0000'),
        fc.boolean(),
        (value, position, piece, replaces) => {
          const text = JSON.stringify(value);
          const cut = position % (text.length + 1);
          expectAgreement(text.slice(0, cut) + piece + text.slice(cut + (replaces ? 1 : 0)));
        },
      ),
      { numRuns: IS_SOAK ? 5_000 : 1_500 },
    );
  });
});

describe('what JSON.parse lets through is found', () => {
  test('a key that occurs twice anywhere, at the second one', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 30 }), fc.nat(), (keys, pick) => {
        const repeatedKey = keys[pick % keys.length]!;
        const members = [...keys, repeatedKey].map((key) => `${JSON.stringify(key)}:0`);
        const text = `[{"inner":{${members.join(',')}}}]`;
        const { fault } = scanJson(text);
        if (keys.includes('__proto__')) return;
        expect(fault?.reason).toContain('occurs twice');
        expect(fault?.offset).toBe(text.lastIndexOf(`${JSON.stringify(repeatedKey)}:0`));
      }),
    );
  });

  test('the same key in two objects is no duplicate', () => {
    expect(scanJson('[{"a":{"a":1}},{"a":2}]').fault).toBeUndefined();
  });

  test('depth, counted at the bracket that is one too many', () => {
    expect(scanJson('[[[1]]]', 3).fault).toBeUndefined();
    expect(scanJson('[[{"a":[1]}]]', 3).fault).toEqual({
      reason: 'the body is nested more than 3 levels deep',
      offset: 7,
    });
  });

  test('20,001 keys in one object', () => {
    const membersText = Array.from({ length: 20_001 }, (_, i) => `"k${i}":0`).join(',');
    expect(scanJson(`{${membersText}}`).fault?.reason).toBe('an object has more than 20000 keys');
  });

  test.each([
    ['1e999', true],
    ['-1e309', true],
    ['[1e308]', false],
    [`1${'0'.repeat(309)}`, true],
    [`1${'0'.repeat(308)}`, false],
    [`0.${'0'.repeat(400)}1`, false],
    ['1e-999', false],
    ['"1e999"', false],
  ])('%s overflows: %s', (text, overflows) => {
    expect(scanJson(text).overflows).toBe(overflows);
  });
});
