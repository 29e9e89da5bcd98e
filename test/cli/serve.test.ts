import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { ErrorEnvelope } from '#contract/payloads.js';
import { openTemporaryFolders } from '../store/temporary-folder.js';
import { runToEnd, runHere, startService, startServiceHere, type ListeningProcess, type Run } from './process.js';

const { version: VERSION } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

const createFolder = openTemporaryFolders();
const runs: Run[] = [];
afterEach(async () => {
  for (const { child, ended } of runs.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});

async function serve(home: string, words: readonly string[] = [], environment: Record<string, string> = {}) {
  const run = await startService(home, ['--workers', '1', ...words], environment);
  runs.push(run);
  return run;
}

/** Returns the sentence that a command prints. The command must print exactly one, besides log lines. */
function findSentence(err: string): string | undefined {
  const messages = err.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  expect(messages).toHaveLength(1);
  return messages[0]?.replace(/^divisor: /, '');
}

const readCode = async (response: Response) => ErrorEnvelope.parse(await response.json()).error.code;

/** Sends a signal, and waits until the service reports that it refuses new requests. */
async function sendStop({ url, child }: ListeningProcess, signal: 'SIGTERM' | 'SIGINT'): Promise<Response> {
  expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  child.kill(signal);
  let readyResponse: Response;
  do readyResponse = await fetch(`${url}/health/ready`);
  while (readyResponse.status === 200);
  return readyResponse;
}

const DRAIN_MS = '3000'; // enough for two requests on a busy machine
const readCreatedKey = async (home: string, ...words: string[]) => {
  const { out, status, err } = await runHere(['keys', 'create', '--home', home, '--name', 'test', ...words]);
  expect([status, err]).toEqual([0, expect.stringContaining('is shown only once')]);
  return out.trim();
};
const fetchStatus = async (url: string, key?: string) =>
  (await fetch(`${url}/changelog`, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })).status;

test('the service prints one line on standard output, writes its log elsewhere, is unready at once after SIGINT, still responds, and exits with 0', async () => {
  const home = await createFolder();
  const run = await serve(home, ['--drain-ms', DRAIN_MS, '--data-roots', join(home, 'nowhere')]);
  const { url, out, err, ended } = run;
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await fetch(`${url}/changelog`)).headers.get('x-engine-version')).toBe(VERSION);
  const readiness = await sendStop(run, 'SIGINT');
  expect([readiness.status, await readCode(readiness), readiness.headers.get('retry-after')]).toEqual([
    503,
    'DRAINING',
    '5',
  ]);
  expect((await fetch(`${url}/health/live`)).status).toBe(200);
  expect(await ended).toBe(0);
  expect(out()).toBe(`listening on ${url}\n`);
  const lines = err()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['listening', 'request', 'stopping', 'stopped']));
  const warnedLines = lines.filter(({ msg }) => msg === 'a data root cannot be read');
  expect(warnedLines).toMatchObject([{ root: join(home, 'nowhere'), failure: 'ENOENT' }]);
});

test('a key that is created before the start allows any host; neither the key nor its secret is logged, up to a stop by SIGTERM', async () => {
  const home = await createFolder();
  const key = await readCreatedKey(home);
  const run = await serve(home, ['--host', '0.0.0.0', '--log-level', 'trace', '--drain-ms', DRAIN_MS]);
  const url = run.url.replace('0.0.0.0', '127.0.0.1');
  expect([await fetchStatus(url), await fetchStatus(url, key)]).toEqual([401, 200]);
  await fetch(`${url}/things?key=${key}`, { headers: { 'x-api-key': key, 'x-request-id': key } });
  const readiness = await sendStop({ ...run, url }, 'SIGTERM');
  expect([readiness.status, await readCode(readiness)]).toEqual([503, 'DRAINING']);
  expect((await fetch(`${url}/health/live`)).status).toBe(200);
  expect(await run.ended).toBe(0);
  expect(run.err()).toContain('request');
  expect(run.err()).not.toContain(key.slice(17));
});

test('without a key the service refuses to listen beyond loopback', async () => {
  const home = await createFolder();
  const { status, out, err } = await runToEnd(['serve', '--home', home, '--port', '0', '--host', '0.0.0.0']);
  expect([status, out]).toEqual([78, '']);
  expect(findSentence(err)).toContain(
    'Without an API key, the service listens only on loopback addresses, not on 0.0.0.0',
  );
});

test('an occupied home and port are reported; the next service starts on the home of a killed one', async () => {
  const home = await createFolder();
  const first = await serve(home);
  await expect(startServiceHere(home)).rejects.toMatchObject({
    exitStatus: 75,
    message: expect.stringContaining(`in use by process ${first.child.pid}`) as string,
  });
  const { port } = new URL(first.url);
  await expect(startServiceHere(await createFolder(), ['--port', port])).rejects.toMatchObject({
    exitStatus: 75,
    message: `Another process listens on 127.0.0.1 port ${port}.`,
  });
  first.child.kill('SIGKILL');
  await first.ended;
  const next = await startServiceHere(home);
  expect((await fetch(`${next.url}/health/live`)).status).toBe(200);
  await next.stop();
});

describe('keys', () => {
  test('are valid at once when they are created while the service runs, and invalid at once when they are revoked', async () => {
    const home = await createFolder();
    const { url } = await serve(home);
    expect(await fetchStatus(url)).toBe(200);
    const key = await readCreatedKey(home, '--scopes', 'read,run');
    expect([await fetchStatus(url), await fetchStatus(url, key), (await fetch(`${url}/health`)).status]).toEqual([
      401, 200, 200,
    ]);
    const list = await runHere(['keys', 'list', '--home', home]);
    expect(list.out).toMatch(new RegExp(`^${key.slice(4, 16)} +test +read,run `, 'm'));
    expect(list.out).not.toContain(key.slice(17));
    expect((await runHere(['keys', 'revoke', key.slice(4, 16), '--home', home])).status).toBe(0);
    expect(await fetchStatus(url, key)).toBe(401);
  });

  test.each([
    [['create'], '--name is required'],
    [['create', '--name', 'a:b'], 'without colons'],
    [['create', '--name', 'a', '--scopes', 'read,fly'], 'Unknown scope fly'],
    [['create', '--name', 'a', '--expires', 'tomorrow'], 'must be a day'],
    [['burn'], 'The key commands are'],
    [['list', '--nope'], '--nope'],
  ])('%j is explained', async (words, message) => {
    const { status, err } = await runHere(['keys', ...words, '--home', await createFolder()]);
    expect([status, err]).toEqual([64, expect.stringContaining(message)]);
  });
});

test('a key from the environment is not stored in a home; an uncaught error exits with 70 and is logged', async () => {
  const { out } = await runHere(['keys', 'create', '--stateless', '--name', 'ci', '--scopes', 'read']);
  const [key = '', entry = ''] = out.trim().split('\n');
  const preload = Buffer.from(`process.on('SIGUSR2', () => { Promise.reject(new Error('nobody caught this')); });`);
  const run = await serve(await createFolder(), [], {
    DIVISOR_API_KEYS: entry.replace('DIVISOR_API_KEYS=', ''),
    NODE_OPTIONS: `--import=data:text/javascript;base64,${preload.toString('base64')}`,
  });
  expect([await fetchStatus(run.url), await fetchStatus(run.url, key)]).toEqual([401, 200]);
  run.child.kill('SIGUSR2');
  expect(await run.ended).toBe(70);
  expect(run.err()).toContain('nobody caught this');
});

describe('the command', () => {
  test('describes itself, its commands and their settings', async () => {
    const help = await runHere(['--help']);
    expect([help.status, help.out]).toEqual([0, expect.stringMatching(/serve .*\n.*worker .*\n.*config .*\n.*keys /)]);
    expect((await runHere([])).out).toBe(help.out);
    expect((await runHere(['serve', '--help'])).out).toContain('--data-roots');
    expect((await runHere(['keys', '--help'])).out).toContain('--scopes');
    expect((await runHere(['--version'])).out.split(/[+ \n]/)[0]).toBe(VERSION);
  });

  test('suggests the command that was probably intended', async () => {
    const { status, err } = await runHere(['serv']);
    expect([status, err]).toEqual([64, 'divisor: There is no command serv. Did you mean serve?\n']);
    expect((await runHere(['fly'])).err).toContain('The commands are serve');
  });

  test('refuses an unknown flag and a bad setting, in one sentence each', async () => {
    expect(await runHere(['serve', '--porto', '1'])).toEqual({
      status: 64,
      out: '',
      err: expect.stringContaining('--porto'),
    });
    expect(await runHere(['config'], { PORT: '99999' })).toEqual({
      status: 78,
      out: '',
      err: 'divisor: The setting PORT "99999" must be at most 65535.\n',
    });
  });
});
