import { readFileSync } from 'node:fs';
import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { ChangelogResponse } from '#contract/service.js';
import { compareVersions, parseVersion } from '#base/version.js';
import { createChangelog } from '#services/shared/service.js';
import { createTestContext } from '../context.js';

const TEXT = `# Changelog

Words before the first release are no entry.

## [Unreleased]

## [1.10.0] - 2026-03-01

### Added
- One thing,
  written over two lines.
- Another \`thing\`.

### Security

- A hole.

### Notes
- A heading that is none.

## [1.9.0-rc.1] - 2026-02-01

### Changed

- A candidate.

## [1.2.0] - 2025-01-01

## [1.1.0] - 2024-01-01

### Fixed
* A fault.

[1.10.0]: https://example.com/compare
`;

const changelog = createChangelog(TEXT, createTestContext({ engineVersion: '1.10.0' }));
const listVersions = (since?: string) => changelog.read(since).entries.map(({ version }) => version);

test('entries are listed newest first; a release without changes is omitted, an empty Unreleased is not', () => {
  expect(listVersions()).toEqual(['Unreleased', '1.10.0', '1.9.0-rc.1', '1.1.0']);
});

test('sections keep their headings and complete changes', () => {
  const [unreleased, release] = changelog.read(undefined).entries;
  expect(unreleased).toEqual({ version: 'Unreleased', date: null, sections: [] });
  expect(release).toEqual({
    version: '1.10.0',
    date: '2026-03-01',
    sections: [
      { heading: 'Added', items: ['One thing, written over two lines.', 'Another `thing`.'] },
      { heading: 'Security', items: ['A hole.'] },
    ],
  });
});

test.each([
  ['1.1.0', ['Unreleased', '1.10.0', '1.9.0-rc.1']],
  ['1.9.0-beta', ['Unreleased', '1.10.0', '1.9.0-rc.1']],
  ['1.9.0', ['Unreleased', '1.10.0']],
  ['v1.9.9', ['Unreleased', '1.10.0']],
  ['1.10.0', ['Unreleased']],
  ['99.0.0', ['Unreleased']],
])('since %s serves %j', (since, expected) => {
  expect(listVersions(since)).toEqual(expected);
});

test.each(['', '1', '1.2', 'latest', '1.2.3.4', '01.2.3', '1.2.3-', 'Unreleased'])(
  'since %j is no version',
  (since) => {
    expect(() => listVersions(since)).toThrowError('1 error in the query.');
  },
);

describe('versions', () => {
  test('precede each other as the specification lists them', () => {
    const orderedTexts = [
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.0.1',
      '1.9.0',
      '1.10.0',
      '2.0.0',
    ];
    const parsedVersions = orderedTexts.map((text) => parseVersion(text)!);
    expect(parsedVersions.toReversed().toSorted(compareVersions)).toEqual(parsedVersions);
  });

  test('are ordered: a reversed comparison changes its sign', () => {
    const version = fc
      .tuple(fc.nat(3), fc.nat(3), fc.nat(3), fc.constantFrom('', '-a', '-a.1', '-1', '-2.b'))
      .map(([a, b, c, tail]) => parseVersion(`${a}.${b}.${c}${tail}`)!);
    fc.assert(
      fc.property(
        version,
        version,
        (a, b) => Math.sign(compareVersions(a, b)) + Math.sign(compareVersions(b, a)) === 0,
      ),
    );
  });
});

test('the shipped changelog has a valid form, and an entry for the running version', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const context = createTestContext({ engineVersion: version });
  const shippedChangelog = createChangelog(readFileSync('CHANGELOG.md', 'utf8'), context).read(undefined);
  expect(
    ChangelogResponse.parse(shippedChangelog)
      .entries.slice(0, 2)
      .map((entry) => entry.version),
  ).toEqual(['Unreleased', version]);
});

test('every release is summarised in at most 25 entries', () => {
  const releases = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m).slice(1);
  const counts = releases.map((text) => ({
    version: /^\[([^\]]+)\]/.exec(text)![1]!,
    entries: text.match(/^- /gm)?.length ?? 0,
  }));
  expect(counts.length).toBeGreaterThanOrEqual(9);
  expect(counts.filter(({ entries }) => entries > 25)).toEqual([]);
});
