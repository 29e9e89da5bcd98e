import { expect, test } from 'vitest';
import { BIT_IDENTICAL_SINCE, mayDifferInBits } from '#domain/backtest/plan.js';
import { compareVersions, parseVersion } from '#base/version.js';
import { readFileSync } from 'node:fs';

test.each([
  ['the same version', '0.3.0', '0.3.0', false],
  ['a version since which no bit has changed', '0.2.0', '0.3.0', false],
  ['a version between', '0.2.7', '0.3.0', false],
  ['a version of before a change of bits', '0.1.9', '0.3.0', true],
  ['a version that is yet to come', '0.4.0', '0.3.0', true],
  ['what is no version', 'nightly', '0.3.0', true],
])('%s: runs of %s on engine %s have other bits: %s', (_what, storedVersion, currentVersion, isOther) => {
  expect(mayDifferInBits(storedVersion, currentVersion, '0.2.0')).toBe(isOther);
});

test('bits have last changed in a version that is not later than this one', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(compareVersions(parseVersion(BIT_IDENTICAL_SINCE)!, parseVersion(version)!)).toBeLessThanOrEqual(0);
});
