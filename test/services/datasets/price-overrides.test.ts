import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ChangedOverrides } from '#contract/stores.js';
import type { BenchmarkStatement } from '#contract/governance.js';
import type { Approval } from '#domain/definition/approvals.js';
import type { AuditEntry } from '#domain/definition/versions.js';
import { issueKey } from '#services/keys/keys.js';
import {
  createFamilyOn,
  createFiles,
  performDay,
  putSchedule,
  SESSIONS,
  createDefinition,
} from '../daily-plans/family.js';
import { listChanges } from './served-folder.js';
import { runService, type RunningService } from '../running-service.js';

/** Service with a wrong price that fails a check. Each test depends on the previous test. */
let service: RunningService;
let folder: Awaited<ReturnType<typeof createFamilyOn>>;
const keys: Record<string, Record<string, string>> = {};
const date = SESSIONS[10]!;
const OVERRIDES = '/data/stores/vendor/overrides';

function createKey(name: string): string {
  const { key, record } = issueKey({ name, scopes: ['admin'], expires: null }, Date.now());
  keys[name] = { 'x-api-key': key };
  return `${name}:${record.id}:${record.sha256}:admin`;
}
const actAs = (who: string): RunningService => ({
  ...service,
  ask: (method, path, body, headers) => service.ask(method, path, body, { ...keys[who], ...headers }),
  waitForJob: (jobId) => service.waitForJob(jobId, keys[who]),
});
const readRightClose = async () => Number(/^AA,[^,]+,([^,]+)/m.exec(Object.values(createFiles(date))[0]!)![1]);
const closeNow = async () => {
  const path = `/data/prices/AA?columns=CLOSE&start=${date}&end=${date}`;
  return (await actAs('ada').ask<{ prices: { data: number[][] } }>('GET', path)).body.prices.data[0]![0];
};

/** Submits a change, lets a second person approve it, and waits until it is applied. */
async function changeApproved(
  request: object,
  end = 'succeeded',
  whilePending: (approvalId: number) => Promise<void> = async () => {},
): Promise<ChangedOverrides> {
  const refusal = await actAs('ada').ask<{ error: { code: string; detail: { approval_id: number } } }>(
    'POST',
    OVERRIDES,
    request,
  );
  expect(refusal.body.error.code).toBe('APPROVAL_REQUIRED');
  const id = refusal.body.error.detail.approval_id;
  await whilePending(id);
  const approvalAnswer = await actAs('ben').ask<Approval>('POST', `/approvals/${id}/decisions`, {
    decision: 'approve',
  });
  expect(approvalAnswer.body).toMatchObject({ action: 'override', subject: 'vendor', state: 'approved' });
  const { status, body } = await actAs('ada').ask<ChangedOverrides>('POST', OVERRIDES, request);
  expect(status, JSON.stringify(body)).toBe(200);
  expect(body.job_id).toBe('refresh:vendor');
  expect((await actAs('ada').waitForJob('refresh:vendor')).status).toBe(end);
  return body;
}

beforeAll(async () => {
  const apiKeys = [createKey('ada'), createKey('ben')];
  service = await runService(['--approvals', 'override=2'], { DIVISOR_API_KEYS: apiKeys.join(',') });
  folder = await createFamilyOn(actAs('ada'), 10);
  const steps = ['refresh', 'run', 'checks', 'publish'].map((type) => ({ type }));
  await putSchedule(actAs('ada'), { enabled: false, steps });
});
afterAll(() => service.close());

test('a price that blocks a check is overridden by two persons, and the day publishes', async () => {
  await folder.write(createFiles(date, (price, security) => (security === 'AA' ? 10 * price : price)));
  const before = await readFile(join(folder.folder, `market/${date}.csv`), 'utf8');
  const day = await performDay(actAs('ada'), date);
  expect([day.state, new Set(day.held.map(({ code }) => code))]).toEqual(['blocked', new Set(['CHECK_FAILED'])]);
  const price = await readRightClose();
  const request = { identifier: 'AA', date, price, reason: 'Closing price of the exchange.' };
  let approvalId = 0;
  const { overrides } = await changeApproved(request, 'succeeded', async (id) => {
    approvalId = id;
    const waitingDay = await performDay(actAs('ada'), date);
    expect([waitingDay.state, new Set(waitingDay.held.map(({ code }) => code))]).toEqual([
      'waiting',
      new Set(['APPROVAL_REQUIRED']),
    ]);
    expect(waitingDay.reason).toContain(`The override ${id} of its price waits for approval.`);
  });
  const approval = { approval_id: approvalId, approved_by: ['ben'] };
  expect(overrides).toMatchObject([{ ...request, source_price: 10 * price, author: 'ada', ...approval }]);
  expect(await closeNow()).toBe(price);
  expect(await performDay(actAs('ada'), date)).toMatchObject({ state: 'done', held: [] });
  expect(await readFile(join(folder.folder, `market/${date}.csv`), 'utf8')).toBe(before);
});

test('the statement of an index with the security names requester, approver and number; that of another index does not', async () => {
  const listOverrides = async (id: string) =>
    (await actAs('ada').ask<BenchmarkStatement>('GET', `/indices/${id}/statement`)).body.discretion.overrides;
  expect(await listOverrides('CORE')).toMatchObject([{ identifier: 'AA', author: 'ada', approved_by: ['ben'] }]);
  expect(await listOverrides('CORE-FEE')).toMatchObject([{ identifier: 'AA' }]);
  const universe = { kind: 'list', identifiers: ['BB', 'CC'] };
  await actAs('ada').ask('PUT', '/indices/OTHER', createDefinition('OTHER', 'EqualWeight', { universe }));
  const { body } = await actAs('ada').ask<{ job_id: string }>('POST', '/analytics/OTHER/backtest', {});
  expect((await actAs('ada').waitForJob(body.job_id)).status).toBe('succeeded');
  expect(await listOverrides('OTHER')).toEqual([]);
});

test('the override is a version of the store and an entry of the audit log', async () => {
  const versions = await actAs('ada').ask<{ versions: { author: string; note: string }[] }>(
    'GET',
    '/data/stores/vendor/document/versions',
  );
  expect(versions.body.versions[0]).toMatchObject({ author: 'ada', note: 'Closing price of the exchange.' });
  const { body } = await actAs('ada').ask<{ entries: AuditEntry[] }>('GET', '/audit?kind=store&id=vendor');
  expect(JSON.stringify(body)).toContain('Closing price of the exchange.');
});

test('later refreshes and a restart keep it, until it is withdrawn and the price of the source applies', async () => {
  await folder.write(createFiles(SESSIONS[11]!));
  expect(await performDay(actAs('ada'), SESSIONS[11]!)).toMatchObject({ state: 'done', held: [] });
  const price = await readRightClose();
  expect(await closeNow()).toBe(price);
  await service.restart();
  await service.resumed();
  expect(await closeNow()).toBe(price);
  const { overrides } = await changeApproved({ identifier: 'AA', date, price: null, reason: 'To see the vendor.' });
  expect(overrides).toEqual([]);
  expect(await closeNow()).toBe(10 * price);
});

test('a start that reads the source again applies a change that no refresh has applied, with later sessions', async () => {
  const badFile = join(folder.folder, 'market/bad.csv');
  await writeFile(badFile, 'identifier,date,CLOSE\nAA,never,1\n');
  const price = (await readRightClose()) + 1;
  await changeApproved({ identifier: 'AA', date, price, reason: 'A late correction of the exchange.' }, 'failed');
  expect(await closeNow()).not.toBe(price);
  await service.restart(async () => {
    await rm(badFile);
    await folder.write(createFiles(SESSIONS[12]!));
  });
  await service.resumed();
  expect(await closeNow()).toBe(price);
  const { end, findings } = await folder.store();
  expect([end, listChanges({ findings })]).toEqual([SESSIONS[12], []]);
  // The next refresh finds no pending change.
  await service.ask('POST', '/data/stores/vendor/refresh', {}, keys['ada']);
  expect((await actAs('ada').waitForJob('refresh:vendor')).result).toMatchObject({ rows_changed: 0, dates_added: 1 });
  expect(await closeNow()).toBe(price);
});

test.each([
  ['a security that the store lacks', { identifier: 'ZZ', date }, 'identifier'],
  ['a day without prices', { identifier: 'AA', date: '2023-07-04' }, 'date'],
  ['an override that is withdrawn without being there', { identifier: 'BB', date, price: null }, 'price'],
])('%s is refused by its place, and asks nobody for approval', async (_, change, path) => {
  const { body } = await actAs('ada').ask<{ error: { detail: Record<string, unknown> } }>('POST', OVERRIDES, {
    price: 10,
    reason: 'A test.',
    ...change,
  });
  expect(body.error.detail['findings']).toMatchObject([{ path }]);
});
