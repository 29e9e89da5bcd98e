import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API } from '#contract/api.js';
import type { Route } from '#contract/route.js';
import { createConformity, type Conformity } from '../http/conformity.js';
import { openLiveService, type LiveService } from '../real/live.js';
import { listMissing } from './excerpt.js';
import { readGuideSources } from './guide-page.js';
import { addTables } from './tables.js';
import { openShell, type Call, type Shell } from './shell.js';

/** Executes every example of the guide unchanged, in reading order, against one service. */

const hasCommand = (command: string) => spawnSync(command, ['--version']).error === undefined;
const isRunnable = hasCommand('curl') && hasCommand('bash');
if (!isRunnable) console.log('The guide is not run: this machine lacks curl or bash.');
const LANGUAGES = new Set(['sh', 'js', ...(hasCommand('python3') ? ['python'] : [])]);

let service: LiveService;
let shell: Shell | undefined;
let folder: string;
let findViolations: Conformity;

beforeAll(async () => {
  service = await openLiveService();
  findViolations = createConformity(service.document);
  folder = await mkdtemp(join(tmpdir(), 'divisor-guide-'));
  if (!isRunnable) return;
  shell = await openShell(folder, {
    DIVISOR: service.url,
    DIVISOR_URL: service.url,
    DIVISOR_HOME: join(service.folder, 'home'),
    DATA: service.folder,
    EXAMPLES: join(process.cwd(), 'data/examples'),
    PYTHONPATH: join(process.cwd(), 'src/clients/python'),
  });
});
afterAll(async () => {
  await shell?.close();
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

describe.skipIf(!isRunnable).each(readGuideSources())('$file', ({ file, examples }) => {
  const runnable = examples.filter(({ language }) => LANGUAGES.has(language));
  if (runnable.length === 0) test('has no examples', () => expect(examples.length).toBe(0));
  test.each(runnable)(`${file}:$line`, async ({ language, expected, text, excerpt }) => {
    const { exitStatus, output, calls } = await shell!.run(language, text);
    const tail = `${output.slice(-3000)}\n`;
    if (expected[0]! < 100) expect(exitStatus, tail).toBe(expected[0]);
    else expect([exitStatus, ...calls.map(({ status }) => status)], tail).toEqual([0, ...expected]);
    for (const call of calls) expect(listViolations(call), `${call.method} ${call.path}`).toEqual([]);
    for (const { path, status, text: answered } of calls)
      if (path === '/sql' && status === 200) expect(JSON.parse(answered)).not.toMatchObject({ rows: 0 });
    if (excerpt !== undefined) expect(listMissing(JSON.parse(calls.at(-1)?.text ?? output), excerpt)).toEqual([]);
  });
});

test.each(readGuideSources())('the generated tables of $file agree with the code', ({ text }) => {
  expect(text, 'npm run generate').toBe(addTables(text));
});

const WORDS_MAX = 1500;

/** Counts the words that are read in order: tables and blocks of code are searched. */
const countWords = (text: string): number =>
  text
    .replaceAll(/^```.*?^```$/gms, '')
    .split('\n')
    .filter((line) => !line.startsWith('|'))
    .join(' ')
    .split(/\s+/)
    .filter((word) => word !== '').length;

test('no page of the guide has more than 1,500 words outside tables and code', () => {
  const long = readGuideSources().map(({ file, text }) => ({ file, words: countWords(text) }));
  expect(long.filter(({ words }) => words > WORDS_MAX)).toEqual([]);
});

const OPERATIONS = Object.entries(API as Record<string, Route>).map(([id, { method, path }]) => ({
  id,
  method,
  words: path.split('/').filter((word) => !word.startsWith('{')).length,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Returns violations of the contract in a response. */
function listViolations({ method, path, status, type, text }: Call): string[] {
  const [bare = ''] = path.split('?');
  const id = OPERATIONS.filter((operation) => operation.method === method && operation.pattern.test(bare)).toSorted(
    (a, b) => b.words - a.words,
  )[0]?.id;
  if (id === undefined) return [];
  return findViolations(id, {
    status,
    type: status === 204 ? null : type,
    body: type?.startsWith('application/json') === true ? JSON.parse(text) : text,
  });
}
