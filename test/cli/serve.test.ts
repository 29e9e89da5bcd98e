import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ErrorEnvelope } from '#contract/common.js';
import { finished, finishedHere, serving, type Run } from './process.js';

const { version: VERSION } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

let home: string;
let runs: Run[] = [];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'serve-'));
});

afterEach(async () => {
  for (const { child, ended } of runs) {
    child.kill('SIGKILL');
    await ended;
  }
  runs = [];
  await rm(home, { recursive: true, force: true });
});

async function serve(...words: string[]) {
  const run = await serving(home, words);
  runs.push(run);
  return run;
}

/** The one sentence the command ends with, besides the lines of its log. */
function sentenceOf(err: string): string | undefined {
  const said = err.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  expect(said).toHaveLength(1);
  return said[0]?.replace(/^divisor: /, '');
}

const codeOf = async (response: Response) => ErrorEnvelope.parse(await response.json()).error.code;

test('the service says one line on standard output, answers, and keeps its log apart', async () => {
  const { url, out, err, child, ended } = await serve('--drain-ms', '0', '--data-roots', join(home, 'nowhere'));
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await fetch(`${url}/changelog`)).headers.get('x-engine-version')).toBe(VERSION);
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(out()).toBe(`listening on ${url}\n`);
  const lines = err()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['listening', 'request', 'stopping', 'stopped']));
  const warned = lines.filter(({ msg }) => msg === 'a data root cannot be read');
  expect(warned).toMatchObject([{ root: join(home, 'nowhere'), failure: 'ENOENT' }]);
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  'after %s the service is unready at once, still answers, and ends with 0',
  async (signal) => {
    const { url, child, ended } = await serve('--drain-ms', '3000'); // time for two requests, however busy the machine is
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    child.kill(signal);
    let ready: Response;
    do ready = await fetch(`${url}/health/ready`);
    while (ready.status === 200);
    expect([ready.status, await codeOf(ready), ready.headers.get('retry-after')]).toEqual([503, 'DRAINING', '5']);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect(await ended).toBe(0);
  },
);

test('a second process on the home is refused with 75 and told the first one', async () => {
  const { child } = await serve();
  const second = await finished(['serve', '--home', home, '--port', '0']);
  expect([second.status, second.out]).toEqual([75, '']);
  expect(second.err).toContain(`in use by process ${child.pid}`);
});

test('a killed service leaves a home the next one starts on', async () => {
  const first = await serve();
  first.child.kill('SIGKILL');
  await first.ended;
  const { url } = await serve();
  expect((await fetch(`${url}/health/live`)).status).toBe(200);
});

test('without a key the service refuses to listen beyond loopback', async () => {
  const { status, out, err } = await finished(['serve', '--home', home, '--port', '0', '--host', '0.0.0.0']);
  expect([status, out]).toEqual([78, '']);
  expect(sentenceOf(err)).toContain('Without an API key the service listens on loopback only, not on 0.0.0.0');
});

test('a port that is taken is said in one sentence', async () => {
  const { url } = await serve();
  const other = await mkdtemp(join(tmpdir(), 'serve-'));
  const second = await finished(['serve', '--home', other, '--port', new URL(url).port]);
  await rm(other, { recursive: true });
  expect([second.status, second.out]).toEqual([75, '']);
  expect(sentenceOf(second.err)).toBe(`Another process listens on 127.0.0.1 port ${new URL(url).port}.`);
});

describe('keys', () => {
  const create = async (...words: string[]) => {
    const { out, status, err } = await finishedHere(['keys', 'create', '--home', home, '--name', 'test', ...words]);
    expect([status, err]).toEqual([0, expect.stringContaining('is shown this once')]);
    return out.trim();
  };
  const status = async (url: string, key?: string) =>
    (await fetch(`${url}/changelog`, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })).status;

  test('made while the service runs, a key counts at once; revoked, it ends at once', async () => {
    const { url } = await serve();
    expect(await status(url)).toBe(200);
    const key = await create('--scopes', 'read,run');
    expect([await status(url), await status(url, key), (await fetch(`${url}/health`)).status]).toEqual([401, 200, 200]);
    const list = await finishedHere(['keys', 'list', '--home', home]);
    expect(list.out).toMatch(new RegExp(`^${key.slice(4, 16)} +test +read,run `, 'm'));
    expect(list.out).not.toContain(key.slice(17));
    expect((await finishedHere(['keys', 'revoke', key.slice(4, 16), '--home', home])).status).toBe(0);
    expect(await status(url, key)).toBe(401);
  });

  test('made before the service starts, a key lets it listen anywhere', async () => {
    const key = await create();
    const { url } = await serve('--host', '0.0.0.0');
    const loopback = url.replace('0.0.0.0', '127.0.0.1');
    expect([await status(loopback), await status(loopback, key)]).toEqual([401, 200]);
  });

  test('given by the environment, a key needs no home that knows it', async () => {
    const { out } = await finishedHere(['keys', 'create', '--stateless', '--name', 'ci', '--scopes', 'read']);
    const [key = '', entry = ''] = out.trim().split('\n');
    const run = await serving(home, [], { DIVISOR_API_KEYS: entry.replace('DIVISOR_API_KEYS=', '') });
    runs.push(run);
    expect([await status(run.url), await status(run.url, key)]).toEqual([401, 200]);
  });

  test('no key and no secret reaches the log', async () => {
    const key = await create();
    const { url, err, child, ended } = await serve('--log-level', 'trace', '--drain-ms', '0');
    await status(url, key);
    await fetch(`${url}/things?key=${key}`, { headers: { 'x-api-key': key, 'x-request-id': key } });
    child.kill('SIGTERM');
    await ended;
    expect(err()).toContain('request');
    expect(err()).not.toContain(key.slice(17));
  });

  test.each([
    [['create'], '--name is needed'],
    [['create', '--name', 'a:b'], 'without colons'],
    [['create', '--name', 'a', '--scopes', 'read,fly'], 'There is no scope fly'],
    [['create', '--name', 'a', '--expires', 'tomorrow'], 'must be a day'],
    [['burn'], 'The key commands are'],
    [['list', '--nope'], '--nope'],
  ])('%j is explained', async (words, message) => {
    const { status, err } = await finishedHere(['keys', ...words, '--home', home]);
    expect([status, err]).toEqual([64, expect.stringContaining(message)]);
  });
});

test('an error nobody caught ends the process with 70 and is in the log', async () => {
  const preload = Buffer.from(`process.on('SIGUSR2', () => { Promise.reject(new Error('nobody caught this')); });`);
  const run = await serving(home, [], {
    NODE_OPTIONS: `--import=data:text/javascript;base64,${preload.toString('base64')}`,
  });
  runs.push(run);
  run.child.kill('SIGUSR2');
  expect(await run.ended).toBe(70);
  expect(run.err()).toContain('nobody caught this');
});

describe('the command', () => {
  test('explains itself, its commands and their settings', async () => {
    const help = await finishedHere(['--help']);
    expect([help.status, help.out]).toEqual([0, expect.stringMatching(/serve .*\n.*worker .*\n.*config .*\n.*keys /)]);
    expect((await finishedHere([])).out).toBe(help.out);
    expect((await finishedHere(['serve', '--help'])).out).toContain('--data-roots');
    expect((await finishedHere(['keys', '--help'])).out).toContain('--scopes');
    expect((await finishedHere(['--version'])).out).toBe(`${VERSION}\n`);
  });

  test('suggests the command that was meant', async () => {
    const { status, err } = await finishedHere(['serv']);
    expect([status, err]).toEqual([64, 'divisor: There is no command serv. Did you mean serve?\n']);
    expect((await finishedHere(['fly'])).err).toContain('The commands are serve');
  });

  test('refuses an unknown flag and a bad setting, in one sentence each', async () => {
    expect(await finishedHere(['serve', '--porto', '1'])).toEqual({
      status: 64,
      out: '',
      err: expect.stringContaining('--porto'),
    });
    expect(await finishedHere(['config'], { PORT: '99999' })).toEqual({
      status: 78,
      out: '',
      err: 'divisor: The setting PORT "99999" must be at most 65535.\n',
    });
  });
});
