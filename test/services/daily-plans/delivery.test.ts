import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client, ClientCollection } from '#contract/clients.js';
import type { DeliveryRecord } from '#domain/definition/delivery.js';
import { runService, type RunningService } from '../running-service.js';
import { startSmtpServer } from '../delivery/smtp-server.js';
import { FAMILY, createFamilyOn, performDay, putSchedule, SESSIONS } from './family.js';

/** Service that delivers files to the clients of a family of indices. Each test depends on the previous test. */
let service: RunningService;
let deliveryFolder: string;
let mail: Awaited<ReturnType<typeof startSmtpServer>>;
const day = SESSIONS[9]!;
const stamp = day.replaceAll('-', '');

beforeAll(async () => {
  mail = await startSmtpServer();
  service = await runService(['--smtp-from', 'indices@desk.example', '--mail-domains', 'acme.example'], {
    DIVISOR_SMTP_URL: mail.url,
    DIVISOR_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  });
  deliveryFolder = join(service.root, 'home', 'delivery');
  await createFamilyOn(service, 10);
});
afterAll(async () => {
  await service.close();
  mail.close();
});

const createFolder = (name: string) => ({ name, type: 'folder', url: `file://${deliveryFolder}/${name}` });
const createAcme = (change: object = {}) => ({
  name: 'Acme',
  entitlements: [{ indices: ['CORE'], tables: ['closing', 'report'] }],
  targets: [createFolder('acme'), { name: 'mail', type: 'mail', to: ['desk@acme.example'] }],
  ...change,
});
const listFindings = async (body: object, id = 'ACME') => {
  const { detail } = await service.refusal('PUT', `/clients/${id}`, body);
  return (detail as { findings: { code: string; path: string }[] }).findings.map(({ code, path }) => `${code} ${path}`);
};
const listDeliveries = async (id: string) =>
  (await service.ask<{ deliveries: DeliveryRecord[] }>('GET', `/clients/${id}/deliveries`)).body.deliveries;

test('a client is refused for an unknown index, target or range', async () => {
  expect(await listFindings(createAcme({ entitlements: [{ indices: ['NONE'] }] }))).toEqual([
    'UNKNOWN_INDEX entitlements[0].indices[0]',
  ]);
  expect(
    await listFindings(createAcme({ entitlements: [{ starts_on: '2024-02-01', ends_on: '2024-01-01' }] })),
  ).toEqual(['INVALID_RANGE entitlements[0].ends_on']);
  const misspeltClient = {
    entitlements: [{ tables: ['closin'] }],
    targets: [{ ...createFolder('a'), tables: ['reports'] }],
  };
  expect(await listFindings(createAcme(misspeltClient))).toEqual([
    'NOT_IN_CHOICES entitlements[0].tables[0]',
    'NOT_IN_CHOICES targets[0].tables[0]',
  ]);
  const sftp = {
    name: 'ftp',
    type: 'sftp',
    url: 'sftp://acme@sftp.acme.example/in',
    host_key: `SHA256:${'A'.repeat(43)}`,
  };
  expect(await listFindings(createAcme({ targets: [createFolder('a'), createFolder('a'), sftp] }))).toEqual([
    'DUPLICATE_ID targets[1].name',
    'REQUIRED targets[2].secret',
    'TARGET_NOT_ALLOWED targets[2].url',
  ]);
  const awayFolder = { ...createFolder('a'), url: 'file:///etc' };
  const withPassword = { ...sftp, url: 'sftp://acme:secret@sftp.acme.example/in' };
  expect(await listFindings(createAcme({ targets: [awayFolder] }))).toEqual(['TARGET_NOT_ALLOWED targets[0].url']);
  expect((await service.refusal('PUT', '/clients/ACME', createAcme({ targets: [withPassword] }))).status).toBe(422);
  const upwards = { ...createFolder('a'), path: '../{file}' };
  expect((await service.refusal('PUT', '/clients/ACME', createAcme({ targets: [upwards] }))).status).toBe(422);
});

test('a day delivers the entitled files to each client, and records the log', async () => {
  expect((await service.ask('PUT', '/clients/ACME', createAcme())).status).toBe(200);
  const wholeClient = { name: 'Whole', entitlements: [{}], targets: [createFolder('whole')] };
  expect((await service.ask('PUT', '/clients/WHOLE', wholeClient)).status).toBe(200);
  expect(
    (
      await service.ask('PUT', '/clients/NOBODY', {
        ...wholeClient,
        entitlements: [],
        targets: [createFolder('nobody')],
      })
    ).status,
  ).toBe(200);
  const steps = [
    { type: 'run' },
    { type: 'publish' },
    { type: 'export', files: [{ table: 'closing', name: '{index}_{date:YYYYMMDD}_closing.csv' }] },
    { type: 'render', template_id: 'FACTSHEET-A4', indices: ['CORE'] },
    { type: 'deliver' },
  ];
  expect((await putSchedule(service, { enabled: false, steps })).status).toBe(200);
  const doneDay = await performDay(service, day);
  expect(doneDay).toMatchObject({ state: 'done', reason: null, held: [] });
  expect(
    doneDay.steps
      .at(-1)!
      .items.map(({ key, state, message }) => [key, state, message])
      .toSorted(),
  ).toEqual([
    ['ACME/acme', 'done', '2 files delivered.'],
    ['ACME/mail', 'done', '1 file delivered.'],
    ['WHOLE/whole', 'done', '4 files delivered.'],
  ]);
  expect(doneDay.steps.at(-1)!.message).toBe('7 files delivered to 3 targets of 2 clients.');
  const listDeliveredNames = (client: string) =>
    readdirSync(join(deliveryFolder, client))
      .filter((name) => !name.endsWith('.sha256'))
      .toSorted();
  expect(listDeliveredNames('acme')).toEqual([`CORE_${stamp}.pdf`, `CORE_${stamp}_closing.csv`].toSorted());
  expect(listDeliveredNames('whole')).toEqual(
    [`CORE_${stamp}.pdf`, ...FAMILY.map((id) => `${id}_${stamp}_closing.csv`)].toSorted(),
  );
  expect(existsSync(join(deliveryFolder, 'nobody'))).toBe(false);
  expect(mail.taken.length).toBe(1);
  const [record] = await listDeliveries('ACME');
  expect(record).toMatchObject({ schedule_id: 'close', date: day, version: 1 });
  expect(record!.files.map(({ target, path, state }) => `${target} ${path} ${state}`).toSorted()).toEqual([
    `acme CORE_${stamp}.pdf delivered`,
    `acme CORE_${stamp}_closing.csv delivered`,
    `mail CORE_${stamp}.pdf delivered`,
  ]);
  expect(record!.log.length).toBe(3);
  const { clients } = (await service.ask<ClientCollection>('GET', '/clients')).body;
  expect(clients.map(({ client_id: id, latest_delivery: latest }) => [id, latest])).toEqual([
    ['ACME', { schedule_id: 'close', date: day, files: 3, delivered: 3 }],
    ['NOBODY', null],
    ['WHOLE', { schedule_id: 'close', date: day, files: 4, delivered: 4 }],
  ]);
  const dayDeliveries = await service.ask<{ deliveries: DeliveryRecord[] }>(
    'GET',
    `/schedules/close/days/${day}/deliveries`,
  );
  expect(dayDeliveries.body.deliveries.map(({ client_id: id }) => id)).toEqual(['ACME', 'WHOLE']);
});

test('files of a day are read by name, and equal the delivered files', async () => {
  const name = `CORE_${stamp}_closing.csv`;
  const answer = await service.download(`/schedules/close/days/${day}/files/${name}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect(bytes.equals(readFileSync(join(deliveryFolder, 'acme', name)))).toBe(true);
  const hash = createHash('sha256').update(bytes).digest('hex');
  expect(readFileSync(join(deliveryFolder, 'acme', `${name}.sha256`), 'utf8')).toBe(`${hash}  ${name}\n`);
  expect((await service.refusal('GET', `/schedules/close/days/${day}/files/other.csv`)).code).toBe('FILE_NOT_FOUND');
});

test('a second round sends nothing again; deliver again sends only missing files', async () => {
  const name = `CORE_${stamp}_closing.csv`;
  await performDay(service, day);
  expect(mail.taken.length).toBe(1);
  rmSync(join(deliveryFolder, 'acme', name));
  await performDay(service, day);
  expect(existsSync(join(deliveryFolder, 'acme', name))).toBe(false); // the client has moved the file
  await performDay(service, day, { again: ['deliver'] });
  expect(existsSync(join(deliveryFolder, 'acme', name))).toBe(true);
  expect(mail.taken.length).toBe(2);
});

test('an unavailable target keeps the day open and blocks no index; it receives its files when it is available', async () => {
  rmSync(join(deliveryFolder, 'whole'), { recursive: true });
  writeFileSync(join(deliveryFolder, 'whole'), 'a file where the folder should be');
  const waitingDay = await performDay(service, day, { again: ['deliver'] });
  expect(waitingDay).toMatchObject({ state: 'waiting', held: [] });
  expect(waitingDay.reason).toContain('WHOLE/whole: 4 files are not delivered yet: The folder could not be written');
  expect(waitingDay.steps.at(-1)!.items.find(({ key }) => key === 'ACME/acme')!.state).toBe('done');
  rmSync(join(deliveryFolder, 'whole'));
  expect(await performDay(service, day)).toMatchObject({ state: 'done' });
  expect(readdirSync(join(deliveryFolder, 'whole')).length).toBe(8);
});

test('a client that may no longer receive anything does not keep the day open', async () => {
  rmSync(join(deliveryFolder, 'whole'), { recursive: true });
  writeFileSync(join(deliveryFolder, 'whole'), '');
  expect((await performDay(service, day, { again: ['deliver'] })).state).toBe('waiting');
  await service.ask('PUT', '/clients/WHOLE', { name: 'Whole', entitlements: [], targets: [createFolder('whole')] });
  const doneDay = await performDay(service, day);
  expect([
    doneDay.state,
    doneDay.steps
      .at(-1)!
      .items.map(({ key }) => key)
      .toSorted(),
  ]).toEqual(['done', ['ACME/acme', 'ACME/mail']]);
});

test('secrets are stored encrypted, never shown, and are used only for their address', async () => {
  const url = 's3://acme-in/x';
  const bucket = { name: 'bucket', type: 'bucket', url, access_key_id: 'AK', endpoint: 'http://127.0.0.1:9' };
  const allowedService = await runService(['--delivery-hosts', '127.0.0.1:9'], {
    DIVISOR_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  });
  try {
    const put = (target: object) =>
      allowedService.ask<Client>('PUT', '/clients/ACME', { name: 'Acme', entitlements: [], targets: [target] });
    const storedClient = await put({ ...bucket, secret: 'a-very-secret-word' });
    expect(storedClient.body.secrets).toEqual(['bucket']);
    expect(JSON.stringify(storedClient.body)).not.toContain('a-very-secret-word');
    expect((await put(bucket)).body.secrets).toEqual(['bucket']);
    const versions = await allowedService.ask('GET', '/clients/ACME/versions/1');
    expect(JSON.stringify(versions.body)).not.toContain('a-very-secret-word');
    const other = await put({ ...bucket, url: 's3://elsewhere' });
    expect([other.status, JSON.stringify(other.body)]).toEqual([422, expect.stringContaining('targets[0].secret')]);
    const home = join(allowedService.root, 'home');
    const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    for (const { parentPath, name } of files)
      expect(readFileSync(join(parentPath, name)).includes('a-very-secret-word')).toBe(false);
  } finally {
    await allowedService.close();
  }
});

test('clients have versions, show who may read an index, and are deleted with their secrets', async () => {
  const listClientIds = async (query: string) =>
    (await service.ask<{ clients: Client[] }>('GET', `/clients${query}`)).body.clients.map(({ client_id: id }) => id);
  expect(await listClientIds('')).toEqual(['ACME', 'NOBODY', 'WHOLE']);
  expect(await listClientIds('?index_id=CORE')).toEqual(['ACME']);
  await service.ask('POST', '/clients/WHOLE/versions/1/restore');
  expect(await listClientIds('?index_id=EVEN')).toEqual(['WHOLE']);
  expect((await service.ask('DELETE', '/clients/NOBODY')).status).toBe(204);
  expect((await service.refusal('GET', '/clients/NOBODY')).code).toBe('CLIENT_NOT_FOUND');
  const { body } = await service.ask<{ entries: { kind: string }[] }>('GET', '/audit?kind=client');
  expect(body.entries.length).toBeGreaterThan(4);
});
