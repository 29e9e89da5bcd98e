import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readBuildInfo, getBuildVersion, readEngineVersion } from '#cli/version.js';

const isRepository = existsSync('.git');

test.skipIf(!isRepository)('a build states the commit of its sources and its time', () => {
  const buildFile = JSON.parse(readFileSync('dist/build.json', 'utf8')) as { commit: string; built_at: string };
  // If only texts have changed since an earlier commit, the build may name that commit.
  expect(execFileSync('git', ['cat-file', '-t', buildFile.commit], { encoding: 'utf8' }).trim()).toBe('commit');
  expect(Date.parse(buildFile.built_at)).toBeGreaterThan(Date.parse('2026-01-01'));
  expect(readBuildInfo()).toEqual(buildFile);
  expect(getBuildVersion()).toBe(`${readEngineVersion()}+${buildFile.commit.slice(0, 12)}`);
});
