import { mkdirSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { findAddressRange } from '#base/addresses.js';
import { checkShape } from '#domain/base/schema.js';
import { parseValidDay } from '#domain/base/time.js';
import { ClientBody, type TargetOf } from '#domain/definition/delivery.js';
import {
  checkPattern,
  createPath,
  findPathProblem,
  parseFolderAddress,
  parseSftpAddress,
} from '#domain/definition/target-addresses.js';
import { createDeliveryDestinations, type DeliveryDestinationOptions } from '#services/delivery/targets.js';
import { createS3Client } from '#store/s3/client.js';
import { formatAwsOrigin } from '#store/s3/keys.js';
import { StartRefusal } from '#store/start-refusal.js';
import { type DeliveryWorld } from './delivery-world.js';
import { listLogLines, openWorlds } from './open-worlds.js';

const { closing, open } = openWorlds();
const DAY = parseValidDay('2024-12-31');

/** Returns the error findings of the first target of a client, as `field: message`. */
function listFindings(target: object): string[] {
  const { findings } = checkShape(ClientBody, { name: 'Acme', entitlements: [{}], targets: [target] });
  return findings.map(({ path, message }) => {
    expect(message).toContain(path);
    expect(message).toMatch(/; it is "|has 0 characters/);
    return `${path}: ${message}`;
  });
}

/** Object store that accepts every object and remembers the paths of its requests as they arrive. */
async function startRecordingStore() {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    if (request.method === 'PUT') paths.push(request.url!);
    request.resume();
    request.on('end', () => response.writeHead(request.method === 'PUT' ? 200 : 404).end());
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths };
}

/** Decodes a path until nothing is left to decode, as a chain of proxies may do. */
function decodeFully(path: string): string {
  for (let text = path; ;) {
    let next = text;
    try {
      next = decodeURIComponent(text);
    } catch {
      return text;
    }
    if (next === text) return text;
    text = next;
  }
}

/** Outcome of a spelling: refused by its form, refused by the allowed list, or the prefix in which the object is. */
type Outcome = 'form' | 'list' | `/results/acme/${string}`;

const BUCKET_SPELLINGS: readonly (readonly [url: string, outcome: Outcome])[] = [
  ['s3://results/acme', '/results/acme/'],
  ['s3://results/acme/', '/results/acme/'],
  ['S3://results/acme/in', '/results/acme/in/'],
  ['s3://results/acme/in/daily/', '/results/acme/in/daily/'],
  ['s3://results/acme/%69n', '/results/acme/in/'],
  ['s3://results/%61cme', '/results/acme/'],
  ['s3://results/acme/two%20words', '/results/acme/two words/'],
  ['s3://results/acme/two words', '/results/acme/two words/'],
  ['s3://results/acme/a+b', '/results/acme/a+b/'],
  ['s3://results/acme/dt=2024', '/results/acme/dt=2024/'],
  ['s3://results/acme/.hidden', '/results/acme/.hidden/'],
  ['s3://results/acme/a..b', '/results/acme/a..b/'],
  ['s3://results/acme/donn\u00e9es', '/results/acme/donn\u00e9es/'],
  ['s3://results/acme/~', '/results/acme/~/'],
  ['s3://results/acme-2', 'list'],
  ['s3://results/acmeX/in', 'list'],
  ['s3://results/Acme', 'list'],
  ['s3://results', 'list'],
  ['s3://results/', 'list'],
  ['s3://results/other/acme', 'list'],
  ['s3://results-2/acme', 'list'],
  ['s3://results.acme/acme', 'list'],
  ['s3://results/acme/..', 'form'],
  ['s3://results/acme/../other', 'form'],
  ['s3://results/acme/./other', 'form'],
  ['s3://results/acme/.', 'form'],
  ['s3://results/acme/...', 'form'],
  ['s3://results/acme/%2e%2e/other', 'form'],
  ['s3://results/acme/%2E./other', 'form'],
  ['s3://results/acme/.%2e/other', 'form'],
  ['s3://results/acme/%2e', 'form'],
  ['s3://results/acme/..%2fother', 'form'],
  ['s3://results/acme/..%2Fother/x', 'form'],
  ['s3://results/acme%2f..%2fother', 'form'],
  ['s3://results%2facme/x', 'form'],
  ['s3://results/acme/%252e%252e/other', 'form'],
  ['s3://results/acme/%25252e%25252e/other', 'form'],
  ['s3://results/acme/..%252fother', 'form'],
  ['s3://results/acme/%c0%ae%c0%ae/other', 'form'],
  ['s3://results/acme/%e0%80%ae/other', 'form'],
  ['s3://results/acme/%u002e%u002e/other', 'form'],
  ['s3://results/acme/%zz', 'form'],
  ['s3://results/acme/%', 'form'],
  ['s3://results/acme/%2', 'form'],
  ['s3://results/acme/..\\other', 'form'],
  ['s3://results\\acme', 'form'],
  ['s3://results/acme/%5c..%5cother', 'form'],
  ['s3://results/acme/.\t./other', 'form'],
  ['s3://results/acme/.\n./other', 'form'],
  ['s3://results/acme/.\r\n./other', 'form'],
  ['s3://results/acme/.%09./other', 'form'],
  ['s3://results/acme/.%0a./other', 'form'],
  ['s3://results/acme/.%00./other', 'form'],
  ['s3://results/acme/..%00', 'form'],
  ['s3://results/acme/..;/other', 'form'],
  ['s3://results/acme/..;a=b/other', 'form'],
  ['s3://results/acme/.. /other', 'form'],
  ['s3://results/acme/ ../other', 'form'],
  ['s3://results/acme/. ./other', 'form'],
  ['s3://results/acme/..%20/other', 'form'],
  ['s3://results/acme//other', 'form'],
  ['s3://results//acme', 'form'],
  ['s3://results/acme//', 'form'],
  ['s3://results/acme/../', 'form'],
  ['s3://results/acme/\u2024\u2024/other', 'form'],
  ['s3://results/acme/\u2025/other', 'form'],
  ['s3://results/acme/\uff0e\uff0e/other', 'form'],
  ['s3://results/acme/%ef%bc%8e%ef%bc%8e/other', 'form'],
  ['s3://results/acme/\u3002\u3002/other', 'form'],
  ['s3://results/acme/\uff61\uff61/other', 'form'],
  ['s3://results/acme/..\u2215other', 'form'],
  ['s3://results/acme/..\uff0fother', 'form'],
  ['s3://results/acme/.\u200b./other', 'form'],
  ['s3://results/acme/.\u00ad./other', 'form'],
  ['s3://results/acme/\u202e../other', 'form'],
  ['s3://results/acme/\ufeff../other', 'form'],
  ['s3://results/acme/..\u00a0/other', 'form'],
  ['s3://results/acme/donne\u0301es', 'form'],
  ['s3://results/acme/\ud800', 'form'],
  ['s3://results/acme?prefix=other', 'form'],
  ['s3://results/acme#/../other', 'form'],
  ['s3://results/acme/x?versionId=1', 'form'],
  ['s3://user@results/acme', 'form'],
  ['s3://user:pw@results/acme', 'form'],
  ['s3://results:443/acme', 'form'],
  ['s3://results@other/acme', 'form'],
  ['s3://../acme', 'form'],
  ['s3://./acme', 'form'],
  ['s3://a..b/acme', 'form'],
  ['s3://Results/acme', 'form'],
  ['s3:///results/acme', 'form'],
  ['s3:/results/acme', 'form'],
  ['s3:results/acme', 'form'],
  [' s3://results/acme', 'form'],
  ['s3://results/acme ', 'form'],
  ['s3://results/acme\n', 'form'],
  ['s3://results/acme\t', 'form'],
  ['\ts3://results/acme', 'form'],
  ['s3\t://results/acme', 'form'],
  ['s3://res\tults/acme', 'form'],
  ['https://results/acme', 'form'],
  [`s3://results/acme/${'a'.repeat(256)}`, 'form'],
  ['s3://results/acme/{date}', 'form'],
  ['s3://results/acme/{date:..}', 'form'],
];

describe('the address of a bucket', () => {
  let world: DeliveryWorld;
  let store: Awaited<ReturnType<typeof startRecordingStore>>;
  beforeEach(async () => {
    store = await startRecordingStore();
    world = await open({ endpoint: store.endpoint, buckets: ['s3://results/acme'] });
  });

  test('is refused with its field and value, or every object is inside the allowed prefix', async () => {
    for (const [url, outcome] of BUCKET_SPELLINGS) {
      const target = { type: 'bucket', name: 'b', url };
      const findings = listFindings(target);
      const stored = {
        ...(ClientBody.shape.targets.parse([{ ...target, url: 's3://x-y/' }])[0] as TargetOf<'bucket'>),
        url,
      };
      const problem = world.places.findProblem(stored);
      if (outcome === 'form') {
        expect(findings, url).toEqual([expect.stringMatching(/^targets\[0\]\.url: targets\[0\]\.url must /)]);
        expect(problem, url).toMatch(/^The url of the target b must /);
        expect(() => world.places.createAccess(stored, undefined), url).toThrow(/must /);
        continue;
      }
      expect(findings, url).toEqual([]);
      if (outcome === 'list') {
        expect(problem, url).toContain('--delivery-buckets');
        continue;
      }
      expect(problem, url).toBeUndefined();
      store.paths.length = 0;
      const client = createS3Client(world.places.createAccess(stored, undefined), { patienceMs: 1 });
      await client.put('CORE.csv', new Uint8Array(1), '0'.repeat(64));
      expect(store.paths.map(decodeFully), url).toEqual([`${outcome}CORE.csv`]);
      expect(new URL(store.paths[0]!, store.endpoint).pathname, url).toBe(store.paths[0]);
    }
  });

  test('that is stored but no longer accepted receives nothing, and the reason names it', async () => {
    const client = world.clientOf({ targets: [{ type: 'bucket', name: 'b', url: 's3://results/acme' }] });
    const [target] = client.document.targets as TargetOf<'bucket'>[];
    const old = {
      ...client,
      document: { ...client.document, targets: [{ ...target!, url: 's3://results/acme/..%2fother' }] },
    };
    const { delivered, reason } = await world.deliver(old, [world.file('CORE', 'one')]);
    expect([delivered, store.paths]).toEqual([0, []]);
    expect(reason).toContain('The url of the target b must');
  });

  test('limits the objects of its client, whatever the name of an object', async () => {
    const client = createS3Client(
      { ...world.places.createAccess(targetOf('s3://results/acme'), undefined) },
      { patienceMs: 1 },
    );
    for (const name of ['../other', '..', '.', 'a/../../b', 'a//b', '', '/a', 'a\\..\\b', '%2e%2e/x', 'a\nb', '..;/x'])
      for (const work of [
        () => client.put(name, new Uint8Array(1), '0'.repeat(64)),
        () => client.look(name),
        () => client.get(name, async () => true),
        () => client.remove(name),
        () => client.copy(name, 'a'),
        () => client.copy('a', name),
      ])
        await expect(work(), name).rejects.toThrow(/^The key .* of an object must /);
    expect(store.paths).toEqual([]);
  });

  test('is reached only at its origin: no redirect of the store is followed', async () => {
    const elsewhere = await startRecordingStore();
    const requests: string[] = [];
    const redirecting = createServer((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      request.resume();
      const location = `${elsewhere.endpoint}${request.url}`;
      request.on('end', () => response.writeHead(request.method === 'HEAD' ? 404 : 307, { location }).end());
    });
    await new Promise<void>((resolve) => void redirecting.listen(0, '127.0.0.1', resolve));
    closing.push(() => redirecting.close());
    const endpoint = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`;
    const other = await open({ endpoint, buckets: ['s3://results/acme'] });
    const client = other.clientOf({ targets: [{ type: 'bucket', name: 'b', url: 's3://results/acme' }] });
    const { delivered, reason } = await other.deliver(client, [other.file('CORE', 'one')]);
    expect([delivered, elsewhere.paths]).toEqual([0, []]);
    expect(requests).toContain('PUT /results/acme/CORE_20241231_closing.csv');
    expect(reason).toContain('307');
  });

  const targetOf = (url: string) =>
    ClientBody.shape.targets.parse([{ type: 'bucket', name: 'b', url }])[0] as TargetOf<'bucket'>;
});

test('an allowed bucket is compared by the names of its folders, with and without a trailing slash', () => {
  for (const allowed of ['s3://results', 's3://results/', 's3://results/acme', 's3://results/acme/']) {
    const { findProblem } = createDestinations({ buckets: [allowed] });
    const urls = ['s3://results/acme', 's3://results/acme/x', 's3://results/acme2', 's3://other/acme'];
    const isAllowed = urls.map((url) => findProblem(bucketOf({ url })) === undefined);
    expect(isAllowed).toEqual([true, true, !allowed.includes('acme'), false]);
  }
});

test('the access key of a bucket consists of characters that end no value of a header', () => {
  const findings = (access_key_id: string) =>
    checkShape(ClientBody, {
      name: 'Acme',
      entitlements: [{}],
      targets: [{ type: 'bucket', name: 'b', url: 's3://acme', region: 'eu-west-1', access_key_id, secret: 's' }],
    }).findings.map(({ path }) => path);
  for (const key of ['AKIAIOSFODNN7EXAMPLE', 'GOOG1EXAMPLE', 'minioadmin', 'team$user', 'a.b-c_d+e@f'])
    expect(findings(key), key).toEqual([]);
  for (const key of [
    'AK\r\nX-Evil: 1',
    'AK\n',
    'AK\0',
    'AK ',
    ' ',
    'A\u00e9',
    '\u4e2d',
    'AK,SignedHeaders=host',
    'AK/x',
    'A=K',
  ])
    expect(findings(key), key).toEqual(['targets[0].access_key_id']);
});

/** Path patterns with their path on 2024-12-31, or undefined if they are refused. */
const PATTERNS: readonly (readonly [pattern: string, path: string | undefined])[] = [
  ['{file}', 'CORE.csv'],
  ['{date:YYYY}/{file}', '2024/CORE.csv'],
  ['{date:YYYY-MM}/{index}.{table}', '2024-12/CORE.closing'],
  ['a..b/{file}', 'a..b/CORE.csv'],
  ['x{date:..YYYY}/{file}', 'x..2024/CORE.csv'],
  ['{date:YYYY..}/{file}', '2024../CORE.csv'],
  ...[
    '..',
    '.',
    '../{file}',
    './{file}',
    'a/../{file}',
    '{date:..}',
    '{date:.}',
    '{date:..}/{file}',
    '{date:.}{date:.}/{file}',
    '{date:.}./{file}',
    '.{date:.}/{file}',
    '{date:-}/{file}',
    '{date:_}',
    '{date:.YYYY}/{file}',
    '{date:..YYYY}/{file}',
    '{date:.}{index}/{file}',
    '.{index}/{file}',
    'a/{date:..}/{date:..}/{file}',
    '{date:..}/{date:..}/etc/{file}',
    '{date:...}/{file}',
    '{file}/{date:..}',
    '{file}/..',
    '/{file}',
    '//{file}',
    '{file}/',
    'a//{file}',
    '',
    '{date:.\n.}/{file}',
    '.\t./{file}',
    '\\..\\{file}',
    '..\\{file}',
    '%2e%2e/{file}',
    '..%2f{file}',
    '{date:%2e%2e}/{file}',
    '\u2024\u2024/{file}',
    '\uff0e\uff0e/{file}',
    '{date: ..}/{file}',
    '{date:../}/{file}',
    '{date:YYYY/..}/{file}',
    '{index:..}/{file}',
    '{file:..}/x',
    '{FILE}',
    '{{file}}',
    '~/{file}',
    '$HOME/{file}',
    'a;b/{file}',
    'C:/{file}',
    '{file}\0',
    ' {file}',
    '{file} ',
    'a'.repeat(256),
  ].map((pattern) => [pattern, undefined] as const),
];

describe('a path pattern', () => {
  const terms = { schedule: 'close', index: 'CORE', table: 'closing', file: 'CORE.csv', client: 'ACME', day: DAY };

  test.each(['folder', 'bucket', 'sftp'])('of a %s target stays inside it on every day, or is refused', (type) => {
    const urls = { folder: 'file:///srv/acme', bucket: 's3://results/acme', sftp: 'sftp://u@host.test/in' };
    const target = { type, name: 'x', url: urls[type as 'folder'], host_key: `SHA256:${'A'.repeat(43)}` };
    const { host_key, ...withoutKey } = target;
    for (const [pattern, path] of PATTERNS) {
      const findings = listFindings({ ...(type === 'sftp' ? target : withoutKey), path: pattern });
      if (path === undefined) {
        expect(
          findings.map((text) => text.slice(0, 'targets[0].path'.length)),
          pattern,
        ).toEqual(['targets[0].path']);
        continue;
      }
      expect(findings, pattern).toEqual([]);
      expect(createPath(pattern, terms)).toBe(path);
      expect(findPathProblem(path)).toBeUndefined();
      expect(join('/root', path).startsWith('/root/')).toBe(true);
    }
    expect(host_key).toContain('SHA256');
  });

  test('that an earlier release accepted writes nothing, in a folder and in a bucket', async () => {
    const store = await startRecordingStore();
    const world = await open({ endpoint: store.endpoint, buckets: ['s3://results/acme'] });
    mkdirSync(join(world.root, 'acme'));
    for (const target of [
      { type: 'folder', name: 'x', url: `file://${world.root}/acme` },
      { type: 'bucket', name: 'x', url: 's3://results/acme' },
    ]) {
      const client = world.clientOf({ targets: [target] });
      const [stored] = client.document.targets as TargetOf<'folder'>[];
      const old = { ...client.document, targets: [{ ...stored!, path: '{date:..}/{file}' }] };
      const counts = await world.deliver({ ...client, document: old }, [world.file('CORE', target.type)]);
      expect(counts).toMatchObject({ delivered: 0, waiting: 1 });
      expect(counts.reason).toContain('The path of the target x {date:..} has an invalid format');
    }
    expect([store.paths, readdirSync(world.root), readdirSync(join(world.root, 'acme'))]).toEqual([[], ['acme'], []]);
  });
});

test('file names of dots are refused by schedules, and not delivered if an earlier release wrote such a file', async () => {
  for (const [pattern] of PATTERNS.filter(([, path]) => path === undefined))
    if (!pattern.includes('{file}') && pattern.length <= 200)
      expect(checkPattern(pattern), pattern).toEqual(expect.any(String));
  for (const pattern of ['..{date:YYYY}', '{date:.YYYY}', '{date:..}', '{date:.}', '{date:--}', '.{index}'])
    expect(checkPattern(pattern), pattern).toEqual(expect.any(String));
  const world = await open();
  const client = world.clientOf({ targets: [{ type: 'folder', name: 'x', url: `file://${world.root}/acme` }] });
  const names = ['..', '.', '...', '.ssh', '../up', 'a\\b', 'a b', ''];
  const files = names.map((name, k) => world.file(`I${k}`, `file ${k}`, 'closing', name));
  expect(await world.deliver(client, [...files, world.file('CORE', 'good')])).toMatchObject({
    delivered: 1,
    failed: 0,
  });
  expect(readdirSync(join(world.root, 'acme')).toSorted()).toEqual([
    'CORE_20241231_closing.csv',
    'CORE_20241231_closing.csv.sha256',
  ]);
  expect(readdirSync(world.root)).toEqual(['acme']);
  expect(await listLogLines(world)).toContain('..: The path ".." has the name "..", which is not accepted.');
});

const FOLDER_SPELLINGS: readonly (readonly [url: string, path: string | undefined])[] = [
  ['file:///srv/delivery/acme', '/srv/delivery/acme'],
  ['file:///srv/delivery/acme/', '/srv/delivery/acme'],
  ['FILE:///srv/delivery/acme', '/srv/delivery/acme'],
  ['file:///srv/delivery/two%20words', '/srv/delivery/two words'],
  ['file:///srv/delivery/%61cme', '/srv/delivery/acme'],
  ...[
    'file:///srv/delivery/%2fetc',
    'file:///srv/delivery/..%2f..%2fetc',
    'file:///srv/delivery/%zz',
    'file:///srv/delivery/%',
    'file:///srv/delivery/%00',
    'file:///srv/delivery/..',
    'file:///srv/delivery/../../etc',
    'file:///srv/delivery/%2e%2e/etc',
    'file:///srv/delivery/%252e%252e/etc',
    'file:///srv/delivery/.',
    'file:///srv/delivery//etc',
    'file:////srv/delivery',
    'file:///srv/delivery/..\\etc',
    'file:///srv/delivery/%5c..',
    'file:///srv/delivery/.\t./etc',
    'file:///srv/delivery/.\n./etc',
    'file:///srv/delivery/\uff0e\uff0e/etc',
    'file:///srv/delivery?x',
    'file:///srv/delivery#x',
    'file://host/srv/delivery',
    'file://localhost/srv/delivery',
    'file:/srv/delivery',
    'file:srv/delivery',
    'file:///',
    'file://',
    'file://../srv',
    '/srv/delivery',
    'srv/delivery',
    '',
  ].map((url) => [url, undefined] as const),
];

test('the address of a folder is its absolute path, or refused with its field and value', () => {
  const { findProblem } = createDestinations({ roots: ['/srv/delivery'] });
  for (const [url, path] of FOLDER_SPELLINGS) {
    const target = { type: 'folder', name: 'x', url };
    const findings = listFindings(target);
    const stored = ClientBody.shape.targets.parse([target])[0] as TargetOf<'folder'>;
    if (path === undefined) {
      expect(findings, url).toEqual([expect.stringMatching(/^targets\[0\]\.url: targets\[0\]\.url must /)]);
      expect(findProblem(stored), url).toMatch(/^The url of the target x must /);
      continue;
    }
    expect(findings, url).toEqual([]);
    expect(findProblem(stored), url).toBeUndefined();
    expect(`/${parseFolderAddress(url).folders!.join('/')}`).toBe(path);
  }
});

const SFTP_SPELLINGS: readonly (readonly [url: string, place: string | undefined])[] = [
  ['sftp://u@host.test', 'u host.test 22 /'],
  ['sftp://u@host.test/', 'u host.test 22 /'],
  ['sftp://u@HOST.test:2222/in/daily/', 'u host.test 2222 /in/daily'],
  ['sftp://u@host.test/~/in', 'u host.test 22 ~/in'],
  ['sftp://u@host.test/~', 'u host.test 22 ~/'],
  ['sftp://account.store%40user@host.test/in', 'account.store@user host.test 22 /in'],
  ['sftp://u@[2001:db8::1]:22/in', 'u 2001:db8::1 22 /in'],
  ...[
    'sftp://host.test/in',
    'sftp://@host.test/in',
    'sftp://u:pw@host.test/in',
    'sftp://u@/in',
    'sftp://u@host.test:/in',
    'sftp://u@host.test:0/in',
    'sftp://u@host.test:99999/in',
    'sftp://u@2001:db8::1/in',
    'sftp://u@host.test\\@evil.test/in',
    'sftp://u@host.test%2fin',
    'sftp://u@ho\tst.test/in',
    'sftp://u%0a@host.test/in',
    'sftp://u%zz@host.test/in',
    'sftp://u@host.test/..',
    'sftp://u@host.test/in/../other',
    'sftp://u@host.test/~/../other',
    'sftp://u@host.test/%2e%2e/other',
    'sftp://u@host.test/..%2fother',
    'sftp://u@host.test/in%00',
    'sftp://u@host.test/%zz',
    'sftp://u@host.test//in',
    'sftp://u@host.test/in\\..',
    'sftp://u@host.test/in?x',
    'sftp://u@host.test/in#x',
    'sftp://u@host.test/\u2025/x',
    'ssh://u@host.test/in',
    'sftp:u@host.test/in',
  ].map((url) => [url, undefined] as const),
];

test('the address of an SFTP server is its user, host, port and folder, or refused with its field and value', () => {
  for (const [url, place] of SFTP_SPELLINGS) {
    const findings = listFindings({ type: 'sftp', name: 'x', url, host_key: `SHA256:${'A'.repeat(43)}` });
    const { user, host, port, isHome, folders = [], problem } = parseSftpAddress(url);
    if (place === undefined) {
      expect(findings, url).toEqual([expect.stringMatching(/^targets\[0\]\.url: targets\[0\]\.url must /)]);
      expect(problem, url).toEqual(expect.any(String));
      continue;
    }
    expect(findings, url).toEqual([]);
    expect(`${user} ${host} ${port} ${isHome ? '~' : ''}/${folders.join('/')}`).toBe(place);
  }
});

/** Regions with the origin of AWS, or undefined if they are refused. Real regions of each partition come first. */
const REGIONS: readonly (readonly [region: string, host: string | undefined])[] = [
  ['eu-central-1', 's3.eu-central-1.amazonaws.com'],
  ['us-gov-west-1', 's3.us-gov-west-1.amazonaws.com'],
  ['cn-north-1', 's3.cn-north-1.amazonaws.com.cn'],
  ['us-iso-east-1', 's3.us-iso-east-1.c2s.ic.gov'],
  ['us-isob-east-1', 's3.us-isob-east-1.sc2s.sgov.gov'],
  ['us-isof-south-1', 's3.us-isof-south-1.csp.hci.ic.gov'],
  ['eu-isoe-west-1', 's3.eu-isoe-west-1.cloud.adc-e.uk'],
  ['eusc-de-east-1', 's3.eusc-de-east-1.amazonaws.eu'],
  ['auto', 's3.auto.amazonaws.com'],
  ...[
    '',
    'evil.example:8443/',
    'evil.example',
    'evil.example/',
    'evil.example#',
    'evil.example?',
    'x@evil.example',
    'x:y@evil.example:8443',
    'evil.example\\',
    'us-east-1.evil.example',
    '/evil',
    '../evil',
    'us east 1',
    ' us-east-1',
    'us-east-1\n',
    'us-\teast-1',
    'us-east-1\0',
    'US-EAST-1',
    'us-east-1%2f',
    '%65u-central-1',
    'us_east_1',
    '-us-east-1',
    'us-east-1-',
    'us--east-1',
    'xn--\u00fcs',
    '\uff45u-central-1',
    'eu\u3002evil',
    'eu\u2024evil',
    'a'.repeat(64),
    '[::1]',
    '127.0.0.1',
  ].map((region) => [region, undefined] as const),
];

describe('the region of a bucket', () => {
  test('is one label of the host, which must be allowed, or refused with its field and value', () => {
    const hosts = REGIONS.flatMap(([, host]) => host ?? []);
    const { findProblem, createAccess } = createDestinations({ hosts });
    for (const [region, host] of REGIONS) {
      const target = { url: 's3://theirs/in', region, access_key_id: 'AK' };
      const findings = listFindings({ type: 'bucket', name: 'b', ...target });
      if (host === undefined) {
        expect(findings, region).toEqual([expect.stringMatching(/^targets\[0\]\.region: /)]);
        if (region !== '') expect(findProblem(bucketOf(target)), region).toMatch(/^The region of the target b must /);
        expect(() => formatAwsOrigin('s3', region), region).toThrow(StartRefusal);
        continue;
      }
      expect(findings, region).toEqual([]);
      expect(findProblem(bucketOf(target)), region).toBeUndefined();
      expect(createAccess(bucketOf(target), 's')).toMatchObject({ endpoint: `https://${host}`, region });
      expect(createDestinations({ hosts: ['s3.other.test'] }).findProblem(bucketOf(target))).toContain(host);
    }
  });

  test('decides the store for keys of the client; keys of the service stay with the store of the service', () => {
    const service = { endpoint: 'https://store.test:9000', region: 'us-east-1', keys: () => SERVICE_KEYS };
    const { createAccess } = createDestinations({ bucketService: () => service });
    const at = (target: object, secret?: string) => createAccess(bucketOf({ url: 's3://theirs', ...target }), secret);
    const own = { access_key_id: 'AK' };
    expect(at({})).toMatchObject({ endpoint: 'https://store.test:9000', region: 'us-east-1', keys: SERVICE_KEYS });
    expect(at({ region: 'eu-west-1' })).toMatchObject({ endpoint: 'https://store.test:9000', region: 'eu-west-1' });
    expect(at(own, 's')).toMatchObject({ endpoint: 'https://store.test:9000', keys: { accessKeyId: 'AK' } });
    expect(at({ ...own, region: 'eu-west-1' }, 's').endpoint).toBe('https://s3.eu-west-1.amazonaws.com');
    expect(at({ ...own, region: 'auto', endpoint: 'https://r2.test' }, 's')).toMatchObject({
      endpoint: 'https://r2.test',
      region: 'auto',
    });
    expect(() => at(own)).toThrow('No secret is stored');
    // Every spelling of an origin is the origin that was compared with the allowed hosts.
    for (const endpoint of [
      'https://r2.test#',
      'https://r2.test?',
      'https://r2.test/',
      'HTTPS://R2.test:443',
      'https://r2\n.test',
    ])
      expect(at({ ...own, endpoint }, 's').endpoint).toBe('https://r2.test');
  });

  test('needs no keys of the service for keys of the client, and a service without keys is a reason', () => {
    const service = {
      endpoint: undefined,
      region: 'us-east-1',
      keys: () => {
        throw new StartRefusal(78, 'Artifacts in a bucket require AWS_ACCESS_KEY_ID.');
      },
    };
    const { findProblem } = createDestinations({
      bucketService: () => service,
      hosts: ['s3.us-east-1.amazonaws.com'],
      buckets: ['s3://theirs'],
    });
    expect(findProblem(bucketOf({ url: 's3://theirs', access_key_id: 'AK' }))).toBeUndefined();
    expect(findProblem(bucketOf({ url: 's3://theirs' }))).toContain('AWS_ACCESS_KEY_ID');
  });
});

/** Addresses with the kind of their range. Each range of the registries has an address of its beginning or end. */
const ADDRESSES = {
  public:
    '8.8.8.8 1.1.1.1 100.63.255.255 100.128.0.0 172.15.0.1 172.32.0.1 192.88.98.1 198.17.0.1 198.20.0.1 223.255.255.255 2001:4860:4860::8888 2606:4700::1111 2a00:1450::1 2001:200::1 2003::1 3ffe::1 ::ffff:8.8.8.8 ::ffff:808:808',
  private:
    '127.0.0.1 127.255.255.255 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 ::1 fc00::1 fd00::1 fdff::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:7f00:1 fd00:ec3::254',
  reserved:
    '0.0.0.0 0.1.2.3 169.254.169.254 169.254.170.2 192.0.0.1 192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 100.100.100.200 168.63.129.16 :: ::2 ::8.8.8.8 ::127.0.0.1 ::169.254.169.254 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::ffff:0:169.254.169.254 ::ffff:100.100.100.200 64:ff9b::a9fe:a9fe 64:ff9b::8.8.8.8 64:ff9b:1::1 100::1 100:0:0:1::1 2001::1 2001:0:a9fe:a9fe::1 2001:1::1 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:2f:ffff::1 2001:30::1 2001:1ff:ffff::1 2001:db8::1 2001:db8:ffff::1 2002:a9fe:a9fe:: 2002:808:808::1 2620:4f:8000::1 3fff::1 3fff:fff::1 4000::1 5f00::1 6000::1 8000::1 e000::1 fe80::1 fe80::a9fe:a9fe febf::1 fec0::1 ff02::1 ff0e::1 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:42::42 fd00:c1::a9fe:a9fe FD00:EC2::254 fd00:0ec2:0:0:0:0:0:254 fe80::1%eth0',
};

test.each(Object.entries(ADDRESSES))('addresses of the kind %s have it in every spelling', (kind, list) => {
  for (const address of list.split(' ')) expect([address, findAddressRange(address)?.kind]).toEqual([address, kind]);
});

test('a text that is no address has no range', () => {
  for (const text of [
    '',
    'host',
    '1.2.3',
    '1.2.3.256',
    '01.2.3.4.5',
    '1.2.3.4 ',
    '::g',
    ':::',
    '1::2::3',
    '[::1]',
    '::1/../x',
    '0x7f.1',
  ])
    expect([text, findAddressRange(text)]).toEqual([text, undefined]);
});

const SERVICE_KEYS = { kind: 'given', accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: undefined } as const;

const bucketOf = (target: object) =>
  ClientBody.shape.targets.parse([{ type: 'bucket', name: 'b', ...target }])[0] as TargetOf<'bucket'>;

const createDestinations = (change: Partial<DeliveryDestinationOptions>) =>
  createDeliveryDestinations({
    roots: [],
    hosts: [],
    buckets: [],
    callbacks: { findProblem: () => undefined },
    hasMail: false,
    mailDomains: [],
    bucketService: () => ({ endpoint: undefined, region: 'us-east-1', keys: () => SERVICE_KEYS }),
    ...change,
  });
