import { expect, test } from 'vitest';
import { formatNumber, removeNumberNoise } from '#domain/base/numbers.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';

test('the noise of sums of decimals is removed, wherever the number is in a sentence', () => {
  for (const [value, shown] of [
    [0.3 + 0.3 + 0.3, '0.9'],
    [0.1 + 0.2, '0.3'],
    [0.29 * 100, '29'],
    [1.1 * 1.1, '1.21'],
    [-(0.3 + 0.3 + 0.3), '-0.9'],
    [3e-8 * 3, '9e-8'],
  ] as const) {
    expect(removeNumberNoise(`The caps reach only ${value}.`)).toBe(`The caps reach only ${shown}.`);
    expect(removeNumberNoise(`${value}%, not 1`)).toBe(`${shown}%, not 1`);
  }
});

test('a number whose digits are a result, and text that is no number, are unchanged', () => {
  for (const text of [
    String(1 / 3),
    '0.99999998',
    'version 1.2.0.30000000000000004',
    'ABC0.30000000000000004',
    '2024-01-02T10:00:00.123456789012345',
    'no number at all',
  ])
    expect(removeNumberNoise(text)).toBe(text);
});

test('two numbers that differ in a message stay different', () => {
  const text = 'lower is 0.30000000000000004, above upper 0.3.';
  expect(removeNumberNoise(text)).toBe(text);
  expect(removeNumberNoise('100.00000000000001 is not 100')).toBe('100.00000000000001 is not 100');
});

test('errors, findings and sentences have no noise', () => {
  const noise = 0.1 + 0.2;
  expect(new Refusal('INFEASIBLE', `At most ${noise}.`).message).toBe('At most 0.3.');
  const finding = {
    severity: 'error',
    code: 'CAP_INFEASIBLE',
    path: '',
    message: `At most ${noise}.`,
    value: noise,
  } as const;
  expect(refuseWithFindings('document', [finding]).detail).toEqual({
    findings: [{ ...finding, message: 'At most 0.3.' }],
  });
  expect(formatNumber(1000 * noise)).toBe('300');
});
