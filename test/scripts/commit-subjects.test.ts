import { execFileSync, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { createTemporaryFolder } from '../store/temporary-folder.js';

const SCRIPT = resolve('scripts/commit-subjects.mjs');
const { findSubjectError } = (await import(pathToFileURL(SCRIPT).href)) as {
  readonly findSubjectError: (subject: string) => string | undefined;
};

test.each([
  'market: recognise split restatements',
  'jobs, store: write the payload once',
  'domain/books: process events in the order of their time',
  'docs: embed the figures',
])('%s: an accepted subject', (subject) => {
  expect(findSubjectError(subject)).toBeUndefined();
});

test.each([
  ['Recognise split restatements', 'form'],
  ['Market: recognise split restatements', 'form'],
  ['market:recognise split restatements', 'form'],
  ['market: recognised split restatements', 'recognised'],
  ['market: recognises split restatements', 'recognises'],
  ['market: recognising split restatements', 'recognising'],
  ['market: the restatement of a split', 'the'],
  ['market: 12 restatements', '12'],
  ['market: recognise restatements.', 'full stop'],
  ['market: recognise restatements; jobs: write once', 'several'],
  [`market: recognise ${'x'.repeat(100)}`, '118 characters'],
])('%s: the fault names %s', (subject, fault) => {
  expect(findSubjectError(subject)).toContain(fault);
});

const HAS_GIT = spawnSync('git', ['--version']).status === 0;
if (!HAS_GIT) console.warn('git is not installed: the commits of a branch are not checked.');

test.skipIf(!HAS_GIT)('commits of main and merges are not checked, those of a branch are', async () => {
  const folder = await createTemporaryFolder();
  const runGit = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@localhost', ...words], {
      cwd: folder,
      stdio: 'pipe',
    });
  const commitFiles = (subject: string) => runGit('commit', '--quiet', '--allow-empty', '-m', subject);
  const check = () => spawnSync(process.execPath, [SCRIPT], { cwd: folder, encoding: 'utf8' });
  runGit('init', '--quiet', '--initial-branch=main');
  commitFiles('History as it was.');
  runGit('checkout', '--quiet', '-b', 'change');
  commitFiles('market: recognise split restatements');
  runGit('checkout', '--quiet', '-b', 'other', 'main');
  commitFiles('market: count rows');
  runGit('checkout', '--quiet', 'change');
  runGit('merge', '--quiet', '--no-edit', 'other');
  expect(check()).toMatchObject({ status: 0, stderr: '' });
  commitFiles('market: split restatements are recognised.');
  expect(check()).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/restatements are recognised\.\n {2}ends in a full stop/),
  });
});
