import { expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { ClientBody, type ClientDocument } from '#domain/definition/delivery.js';
import { createClients } from '#services/delivery/clients.js';
import { createDeliveryDestinations } from '#services/delivery/targets.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { createSecretBox } from '#store/secret-box.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { createTestContext } from '../context.js';
import { openWorlds } from './open-worlds.js';

const { closing, open: openDelivery } = openWorlds();
const createSecret = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString('base64')}`;
const JOB_SECRET = createSecret(1);

async function openClients(buckets: readonly string[] = ['s3://results/acme']) {
  const home = await openHome(await createTemporaryFolder());
  const { documents, close } = await openStore({ home, onFailure: () => {} });
  closing.push(async () => {
    await close();
    await home.close();
  });
  const secrets = createSecretBox(Buffer.alloc(32, 7));
  const createWith = (allowed: readonly string[]) => {
    const destinations = createDeliveryDestinations({
      roots: ['/srv/delivery'],
      hosts: [],
      buckets: allowed,
      callbacks: { findProblem: () => undefined },
      hasMail: false,
      mailDomains: [],
      bucketService: () => ({
        endpoint: 'http://127.0.0.1:1',
        region: 'us-east-1',
        keys: () => ({ kind: 'given', accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: undefined }),
      }),
    });
    return createClients(createTestContext({ documents, secrets }), destinations, [JOB_SECRET]);
  };
  /** Stores a client without a check, as an earlier release or a restored backup may have done. */
  const storeUnchecked = (id: string, targets: readonly object[]) =>
    documents.transaction((tx) => {
      const document = ClientBody.parse({ name: id, entitlements: [{}], targets: [] });
      const parsed = targets.map((target) => ({ ...ClientBody.shape.targets.parse([target])[0]! }));
      return tx.put('client', id, { ...document, targets: parsed } satisfies ClientDocument);
    });
  return { clients: createWith(buckets), createWith, storeUnchecked };
}

const createBody = (targets: readonly object[]) => ClientBody.parse({ name: 'Acme', entitlements: [{}], targets });
const createHook = (name: string, secret?: string) => ({
  type: 'callback',
  name,
  url: `https://${name}.test/in`,
  ...(secret !== undefined && { secret }),
});

async function listFindings(work: Promise<unknown>): Promise<string[]> {
  const failure = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(failure instanceof Refusal)) return [];
  const { findings } = failure.detail as { findings: { code: string; path: string; message: string }[] };
  expect(JSON.stringify(findings)).not.toContain('whsec_A');
  return findings.map(({ code, path, message }) => `${code} ${path}: ${message}`);
}

test('each callback target needs a separate secret in the form of Standard Webhooks', async () => {
  const { clients } = await openClients();
  const put = (id: string, ...targets: readonly object[]) =>
    listFindings(clients.put(id, createBody(targets), undefined));
  expect(await put('ACME', createHook('a'))).toEqual([
    expect.stringMatching(/^REQUIRED targets\[0\]\.secret: .*whsec_/),
  ]);
  for (const wrong of ['word', 'whsec_short', `${createSecret(2)}, word`, [2, 3, 4].map(createSecret).join(',')])
    expect(await put('ACME', createHook('a', wrong))).toEqual([
      expect.stringMatching(/^WRONG_TYPE targets\[0\]\.secret: targets\[0\]\.secret must be whsec_ and/),
    ]);
  expect(await put('ACME', createHook('a', createSecret(2)), createHook('b', createSecret(2)))).toEqual([
    'NOT_IN_CHOICES targets[1].secret: targets[1].secret is the secret of a; each target needs a separate secret.',
  ]);
  expect(await put('ACME', createHook('a', JOB_SECRET))).toEqual([expect.stringContaining('the callbacks of jobs')]);
  expect(await put('ACME', createHook('a', createSecret(2)), createHook('b', createSecret(3)))).toEqual([]);
  expect(await put('OTHER', createHook('c', createSecret(3)))).toEqual([
    expect.stringContaining('a target of another client'),
  ]);
  // Without a secret, a target keeps its stored one; with another address it does not.
  expect(await put('ACME', createHook('a'), createHook('b'))).toEqual([]);
  expect(await put('ACME', { ...createHook('a'), url: 'https://elsewhere.test/in' })).toEqual([
    expect.stringMatching(/^REQUIRED targets\[0\]\.secret/),
  ]);
  const record = (await clients.find('ACME'))!;
  expect(record.document.targets.map((target) => record.findSecret(target))).toEqual([
    createSecret(2),
    createSecret(3),
  ]);
});

test('two targets cannot share one of the secrets of a rotation', async () => {
  const { clients } = await openClients();
  const both = `${createSecret(2)},${createSecret(3)}`;
  const put = (...targets: readonly object[]) => listFindings(clients.put('ACME', createBody(targets), undefined));
  expect(await put(createHook('a', both), createHook('b', createSecret(3)))).toEqual([
    expect.stringMatching(/^NOT_IN_CHOICES targets\[1\]\.secret/),
  ]);
});

test('two spellings of the same bytes are one secret', async () => {
  const { clients } = await openClients();
  const put = (id: string, ...targets: readonly object[]) =>
    listFindings(clients.put(id, createBody(targets), undefined));
  // 32 bytes of 0: 43 characters, the last of which has 2 unused bits, and an optional padding.
  const [secret, ...others] = ['A=', 'A', 'B=', 'D'].map((end) => `whsec_${'A'.repeat(42)}${end}`);
  for (const other of others)
    expect(await put('ACME', createHook('a', secret), createHook('b', other))).toEqual([
      'NOT_IN_CHOICES targets[1].secret: targets[1].secret is the secret of a; each target needs a separate secret.',
    ]);
  expect(await put('ACME', createHook('a', secret))).toEqual([]);
  expect(await put('OTHER', createHook('c', others[0]))).toEqual([
    expect.stringContaining('a target of another client'),
  ]);
  expect(await put('OTHER', createHook('c', JOB_SECRET.replaceAll('=', '')))).toEqual([
    expect.stringContaining('the callbacks of jobs'),
  ]);
});

test('a stored client whose target is no longer accepted is disabled, reported, and receives nothing at any target', async () => {
  const { clients, createWith, storeUnchecked } = await openClients();
  const bucket = (url: string) => ({ type: 'bucket', name: 'b', url });
  const folder = { type: 'folder', name: 'share', url: 'file:///srv/delivery/acme' };
  await storeUnchecked('GOOD', [bucket('s3://results/acme/in'), folder]);
  await storeUnchecked('DOTS', [folder, bucket('s3://results/acme/..%2fother')]);
  await storeUnchecked('PATH', [{ ...folder, path: '{date:..}/{file}' }]);
  await storeUnchecked('REGION', [{ ...bucket('s3://x-y'), access_key_id: 'AK', region: 'evil.example:8443/' }]);
  await storeUnchecked('ESCAPE', [{ ...folder, url: 'file:///srv/delivery/%zz' }]);
  await storeUnchecked('LIST', [bucket('s3://results/other')]);
  const reasons = new Map((await clients.listProblems()).map(({ client_id: id, problems }) => [id, problems]));
  expect([...reasons.keys()].toSorted()).toEqual(['DOTS', 'ESCAPE', 'LIST', 'PATH', 'REGION']);
  expect(reasons.get('DOTS')).toEqual([
    expect.stringMatching(/^b: The url of the target b must .*; it is "s3:\/\/results\/acme\/\.\.%2fother"\.$/),
  ]);
  expect(reasons.get('PATH')).toEqual([expect.stringMatching(/^share: The path of the target share .*\{date:\.\.\}/)]);
  expect(reasons.get('REGION')).toEqual([
    expect.stringMatching(/^b: The region of the target b must .*evil\.example:8443/),
  ]);
  expect(reasons.get('LIST')).toEqual([expect.stringContaining('--delivery-buckets')]);
  for (const id of ['GOOD', ...reasons.keys()]) {
    const { client } = await clients.get(id);
    expect([id, client.enabled, client.problems]).toEqual([id, id === 'GOOD', reasons.get(id) ?? []]);
  }
  expect((await clients.page({ limit: 10 })).items.map(({ enabled }) => enabled)).toEqual(
    Array(5).fill(false).toSpliced(2, 0, true),
  );
  const world = await openDelivery();
  const record = (await clients.find('DOTS'))!;
  const house = { ...record.document.targets[0]!, url: `file://${world.root}/house` } as typeof folder;
  const delivered = await world.deliver({ ...record, document: { ...record.document, targets: [house as never] } }, [
    world.file('CORE', 'one'),
  ]);
  expect(delivered).toMatchObject({ delivered: 0, waiting: 1 });
  expect(delivered.reason).toContain('The url of the target b must');
  // The settings permit the bucket again.
  const { client } = await createWith(['s3://results']).get('LIST');
  expect([client.enabled, client.problems]).toEqual([true, []]);
});
