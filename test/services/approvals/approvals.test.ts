import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeskAction } from '#contract/action-desk.js';
import type { Scope } from '#contract/route.js';
import type { HeldIndex } from '#domain/outputs/daily-plans.js';
import type { Approval } from '#domain/definition/approvals.js';
import type { AuditEntry } from '#domain/definition/versions.js';
import { issueKey } from '#services/keys/keys.js';
import {
  readDay,
  createDefinition,
  createFamilyOn,
  createFiles,
  performDay,
  listPublishedDates,
  putSchedule,
  SESSIONS,
} from '../daily-plans/family.js';
import { runService, type Answer, type RunningService } from '../running-service.js';
import { waitFor } from '../../waiting.js';

/** Service for indices whose publication a second person must approve. Each test depends on the previous test. */
let service: RunningService;
let folder: Awaited<ReturnType<typeof createFamilyOn>>;
const keys: Record<string, Record<string, string>> = {};
const [day1, day2, day3] = SESSIONS.slice(9) as [string, string, string];

function createKey(name: string, scopes: readonly Scope[]): string {
  const { key, record } = issueKey({ name, scopes, expires: null }, Date.now());
  keys[name + record.id] = keys[name] = { 'x-api-key': key };
  return `${name}:${record.id}:${record.sha256}:${scopes.join('+')}`;
}

/** Returns a client of the service. It sends requests as this person. */
const actAs = (who: string): RunningService => ({
  ...service,
  ask: (method, path, body, headers) => service.ask(method, path, body, { ...keys[who], ...headers }),
  waitForJob: (jobId) => service.waitForJob(jobId, keys[who]),
});

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly detail: Record<string, unknown> };
}

const listApprovals = async (query = '') =>
  (await actAs('ada').ask<{ readonly approvals: Approval[] }>('GET', `/approvals${query}`)).body.approvals;
const decide = (who: string, id: number, decision: string, comment?: string) =>
  actAs(who).ask<Approval & Failure>('POST', `/approvals/${id}/decisions`, { decision, ...(comment && { comment }) });
const readFacts = async (id: number) => (await actAs('ben').ask<Approval>('GET', `/approvals/${id}`)).body.facts;
const formatCode = ({ status, body }: Answer<Failure>) => `${status} ${body.error.code}`;

beforeAll(async () => {
  const apiKeys = [
    createKey('ada', ['admin']),
    createKey('ada', ['read', 'publish']),
    createKey('ben', ['read', 'write', 'data', 'publish']),
    createKey('cleo', ['read', 'write', 'run', 'publish']),
    createKey('dora', ['read', 'publish']),
  ];
  keys['ada'] = keys[Object.keys(keys).find((name) => name.startsWith('ada') && name !== 'ada')!]!;
  service = await runService(
    ['--approvals', 'publish=2,restate=3:ben+cleo+dora,amend=2,waive=2,action=2', '--approval-hours', '48'],
    { DIVISOR_API_KEYS: apiKeys.join(',') },
  );
  folder = await createFamilyOn(actAs('ada'), 10);
});
afterAll(() => service.close());

test('a schedule holds closes until a second person approves them, and then publishes them automatically', async () => {
  const put = await putSchedule(actAs('ada'), { enabled: false, indices: ['CORE'] });
  expect(put.status).toBe(200);
  const day = await performDay(actAs('ada'), day1);
  expect(day).toMatchObject({ state: 'waiting', held: [{ index_id: 'CORE', code: 'APPROVAL_REQUIRED' }] });
  expect(day.steps.at(-1)).toMatchObject({ type: 'publish', state: 'done', held: 1, indices: 1 });
  expect(await listPublishedDates(actAs('ada'), 'CORE')).toEqual([]);
  const [approval, ...otherApprovals] = await listApprovals('?state=pending');
  expect(otherApprovals).toEqual([]);
  expect(approval).toMatchObject({
    action: 'publish',
    subject: 'CORE',
    requested_by: 'ada',
    persons: 2,
    missing: 1,
    schedule_day: { schedule_id: 'close', date: day1 },
    facts: {
      kind: 'publish',
      index_id: 'CORE',
      published: 10,
      restated: 0,
      first: SESSIONS[0],
      last: day1,
      previous: null,
    },
  });
  expect(Date.parse(approval!.expires_at) - Date.parse(approval!.requested_at)).toBe(48 * 3_600_000);
  await performDay(actAs('ada'), day1);
  expect(await listApprovals()).toHaveLength(1); // equal closes share one pending request

  expect((await decide('ben', 1, 'approve', 'Agrees with ours')).body).toMatchObject({ state: 'approved', missing: 0 });
  const doneApproval = await waitFor(async () => {
    const now = await readDay(actAs('ada'), day1);
    if (now.state !== 'done') throw new Error(now.state);
    return now;
  });
  expect(doneApproval.reason).toBeNull();
  expect(await listPublishedDates(actAs('ada'), 'CORE')).toEqual(SESSIONS.slice(0, 10));
  const usedApproval = (await actAs('ada').ask<Approval>('GET', '/approvals/1')).body;
  expect(usedApproval.history.map(({ author, action, comment }) => [author, action, comment])).toEqual([
    ['ada', 'requested', `Schedule close, ${day1}`],
    ['ben', 'approved', 'Agrees with ours'],
    ['ada', 'used', null],
  ]);
});

test('the requester of a change cannot decide it, also with another key of the same name', async () => {
  await folder.write(createFiles(day2));
  await performDay(actAs('ada'), day2);
  const [approval] = await listApprovals('?state=pending');
  const id = approval!.approval_id;
  const adaKeys = Object.keys(keys).filter((name) => name.startsWith('ada') && name !== 'ada');
  expect(adaKeys).toHaveLength(2);
  for (const key of adaKeys) {
    expect(formatCode(await decide(key, id, 'approve'))).toBe('403 APPROVAL_FORBIDDEN');
    expect(formatCode(await decide(key, id, 'reject', 'No'))).toBe('403 APPROVAL_FORBIDDEN');
  }
  expect(formatCode(await decide('ben', id, 'withdraw'))).toBe('403 APPROVAL_FORBIDDEN');
  expect(formatCode(await decide('ben', 99, 'approve'))).toBe('404 APPROVAL_NOT_FOUND');
  expect((await decide('ben', id, 'reject')).status).toBe(422);
  expect((await decide('dora', id, 'comment', 'Who has the vendor on the phone?')).body.state).toBe('pending');
  expect((await decide('ben', id, 'reject', 'BB is wrong')).body.state).toBe('rejected');
  expect(formatCode(await decide('cleo', id, 'approve'))).toBe('409 APPROVAL_CLOSED');
  // The day does not send a second request for the same figures.
  const isBlocked = ({ code, reason }: HeldIndex) => code === 'APPROVAL_CLOSED' && reason.endsWith('BB is wrong');
  await waitFor(async () => expect((await readDay(actAs('ada'), day2)).held.some(isBlocked)).toBe(true));
  expect(await listApprovals('?state=pending')).toEqual([]);
  expect(await listPublishedDates(actAs('ada'), 'CORE')).toEqual(SESSIONS.slice(0, 10));
});

/** Refreshes the store with the changed history again. */
async function refreshHistory(): Promise<void> {
  const { body } = await actAs('ada').ask<{ job_id: string }>('POST', '/data/sync', { full: true });
  expect((await actAs('ada').waitForJob(body.job_id)).status).toBe('succeeded');
}

test('a rejected change is requested again, and its approval covers exactly its figures', async () => {
  await performDay(actAs('ada'), day2);
  const [approval] = await listApprovals('?state=pending');
  await decide('ben', approval!.approval_id, 'approve');
  await waitFor(async () => expect(await listPublishedDates(actAs('ada'), 'CORE')).toHaveLength(11));

  // A price is corrected after the request. So the approval of the first figures publishes nothing.
  await folder.write(createFiles(day3));
  await performDay(actAs('ada'), day3);
  const [first] = await listApprovals('?state=pending');
  await folder.write(createFiles(day3, (price, security) => (security === 'BB' ? price + 1 : price)));
  await refreshHistory();
  await performDay(actAs('ada'), day3, { again: ['refresh', 'run'] });
  const pendingApprovals = await listApprovals('?state=pending');
  expect(pendingApprovals).toHaveLength(2);
  expect((await decide('ben', first!.approval_id, 'approve')).body.state).toBe('approved');
  await performDay(actAs('ada'), day3);
  expect(await listPublishedDates(actAs('ada'), 'CORE')).toHaveLength(11);
  await decide('ben', pendingApprovals[0]!.approval_id, 'approve');
  await waitFor(async () => expect(await listPublishedDates(actAs('ada'), 'CORE')).toHaveLength(12));
});

test('a restatement follows the rule of restatements, and counts each person once', async () => {
  await folder.write(createFiles(day3));
  await refreshHistory();
  const { body: run } = await actAs('ada').ask<{ job_id: string }>('POST', '/analytics/CORE/backtest', {});
  await actAs('ada').waitForJob(run.job_id);
  const restatement = { restate: true, reason: 'The price of BB was wrong' };
  const ask = () => actAs('ada').ask<Failure & { restated: number }>('POST', '/analytics/CORE/publish', restatement);
  const refusal = await ask();
  expect(formatCode(refusal)).toBe('409 APPROVAL_REQUIRED');
  const { approval_id: number, missing } = refusal.body.error.detail as { approval_id: number; missing: number };
  expect(missing).toBe(2);
  const { facts } = (await actAs('ben').ask<Approval>('GET', `/approvals/${number}`)).body;
  if (facts?.kind !== 'restate') throw new Error(facts?.kind);
  expect(facts).toMatchObject({
    restated: 1,
    published: 0,
    first: day3,
    levels_changed: 1,
    reason: restatement.reason,
  });
  const { latest, largest } = facts;
  expect([latest.date, largest!.date]).toEqual([day3, day3]);
  expect(largest!.change).toBeCloseTo(latest.after[largest!.variant]! - latest.before[largest!.variant]!, 12);
  expect((await decide('ben', number, 'approve')).body).toMatchObject({ state: 'pending', missing: 1 });
  expect(formatCode(await decide('ben', number, 'approve'))).toBe('403 APPROVAL_FORBIDDEN');
  expect(formatCode(await ask())).toBe('409 APPROVAL_REQUIRED');
  expect((await decide('dora', number, 'approve')).body.state).toBe('approved');
  expect((await ask()).body).toMatchObject({ restated: 1 });
  expect((await ask()).body).toMatchObject({ restated: 0 }); // the restatement is complete, so nothing is left to approve
});

test('a definition with published closes changes only with approval, any other at once', async () => {
  const change = createDefinition('CORE', 'EqualWeight', { name: 'Core, amended' });
  const put = (body: object) => actAs('cleo').ask<Failure & { name: string }>('PUT', '/indices/CORE', body);
  const refusal = await put(change);
  expect(formatCode(refusal)).toBe('409 APPROVAL_REQUIRED');
  const number = refusal.body.error.detail['approval_id'] as number;
  const fields = [{ field: 'Name', path: '/name', before: 'CORE', after: 'Core, amended' }];
  expect(await readFacts(number)).toMatchObject({ kind: 'amend', changes: [{ effective_from: null, fields }] });
  expect(formatCode(await decide('dora', number, 'approve'))).toBe('403 APPROVAL_FORBIDDEN'); // the key lacks the scope `write`
  await decide('ben', number, 'approve');
  expect(formatCode(await put({ ...change, name: 'Something else' }))).toBe('409 APPROVAL_REQUIRED');
  expect((await put(change)).status).toBe(200);
  expect((await put(change)).status).toBe(200); // the document does not change
  expect((await actAs('cleo').ask('PUT', '/indices/EVEN', createDefinition('EVEN', 'EqualWeight'))).status).toBe(200);
  expect(formatCode(await actAs('cleo').ask<Failure>('DELETE', '/indices/CORE'))).toBe('409 APPROVAL_REQUIRED');
  expect((await actAs('cleo').ask('GET', '/indices/CORE')).status).toBe(200);
});

test('an amendment is requested as its fields before and after, in sentences, from its date', async () => {
  const changes = { rebalance: { frequency: 'quarterly' } };
  const amendments = [{ effective_from: '2023-09-01', reason: 'Less turnover', changes }];
  const body = createDefinition('CORE', 'EqualWeight', { name: 'Core, amended', amendments });
  const refusal = await actAs('cleo').ask<Failure>('PUT', '/indices/CORE', body);
  expect(refusal.body.error.message).toContain('Amend the definition of CORE from 2023-09-01 on.');
  const fields = [
    { field: 'Rebalance, frequency', path: '/rebalance/frequency', before: 'monthly', after: 'quarterly' },
  ];
  const facts = await readFacts(refusal.body.error.detail['approval_id'] as number);
  expect(facts).toMatchObject({
    deletes: false,
    changes: [{ effective_from: '2023-09-01', reason: 'Less turnover', fields }],
  });
  const { removed, added } = facts?.kind === 'amend' ? facts.changes[0]! : { removed: [], added: [] };
  expect([removed.join(), added.join()]).toEqual([expect.stringMatching(/month/i), expect.stringMatching(/quarter/i)]);
});

test('every request and decision is in the audit log, with its comment', async () => {
  const { body } = await actAs('ada').ask<{ readonly entries: AuditEntry[] }>('GET', '/audit?kind=approval');
  const first = body.entries.filter(({ id }) => id.endsWith('/0000000001'));
  expect(first.map(({ author, action, note }) => [author, action, note])).toEqual([
    ['ada', 'created', `Schedule close, ${day1}`],
    ['ben', 'updated', 'Agrees with ours'],
    ['ada', 'updated', `Schedule close, ${day1}`],
  ]);
});

test('the approvals of a family are requested together, and an overlay is published after its parent', async () => {
  const doubledIndex = { kind: 'overlay', source_index_id: 'EVEN', overlay: { type: 'leverage', factor: 2 } };
  const { pipeline: _, rebalance: _reviews, ...rest } = createDefinition('EVEN-2X', 'EqualWeight', doubledIndex);
  expect((await actAs('ada').ask('PUT', '/indices/EVEN-2X', rest)).status).toBe(200);
  const steps = [{ type: 'run' }, { type: 'checks' }, { type: 'publish' }];
  await putSchedule(actAs('ada'), { enabled: false, indices: ['EVEN-2X', 'EVEN'], steps }, 'family');
  const waitingDay = await performDay(actAs('ada'), day3, {}, 'family');
  expect(waitingDay.state, JSON.stringify(waitingDay)).toBe('waiting');
  expect(waitingDay.steps.map(({ held, indices }) => [held, indices])).toEqual([
    [0, 2],
    [0, 2],
    [2, 2],
  ]);
  const pendingApprovals = await listApprovals(`?state=pending&schedule_id=family&date=${day3}`);
  expect(pendingApprovals.map(({ subject }) => subject).toSorted()).toEqual(['EVEN', 'EVEN-2X']);
  const [parent, child] = ['EVEN', 'EVEN-2X'].map(
    (id) => pendingApprovals.find(({ subject }) => subject === id)!.approval_id,
  );
  await decide('ben', child!, 'approve');
  const secondDay = await performDay(actAs('ada'), day3, {}, 'family');
  expect(secondDay.reason).toContain('It can be published after EVEN, on which it depends.');
  expect(await listPublishedDates(actAs('ada'), 'EVEN-2X')).toEqual([]);
  await decide('ben', parent!, 'approve');
  await waitFor(async () => expect((await readDay(actAs('ada'), day3, 'family')).state).toBe('done'));
  for (const id of ['EVEN', 'EVEN-2X']) expect((await listPublishedDates(actAs('ada'), id)).at(-1)).toBe(day3);
});

test('a corporate action is decided by two persons, and the second sees its effect on each index', async () => {
  const [session, coming] = SESSIONS.slice(12) as [string, string];
  const actionsCsv = `identifier,type,value,ex_date\nAA,SPLIT,2,${coming}\n`;
  await folder.write({ ...createFiles(session), 'corporate_actions.csv': actionsCsv });
  const { body: job } = await actAs('ada').ask<{ job_id: string }>('POST', '/data/sync', {});
  expect((await actAs('ada').waitForJob(job.job_id)).status).toBe('succeeded');
  const queue = await actAs('ada').ask<{ actions: readonly DeskAction[] }>('GET', '/actions');
  const path = `/actions/${queue.body.actions[0]!.action_id}/decisions`;
  const decideAction = (decision: string) =>
    actAs('ada').ask<DeskAction & Failure>('POST', path, { decision, sources: [{ name: 'Issuer', value: 3 }] });
  const refusal = await decideAction('confirmed');
  expect(formatCode(refusal)).toBe('409 APPROVAL_REQUIRED');
  const id = refusal.body.error.detail['approval_id'] as number;
  const facts = await readFacts(id);
  expect(facts).toMatchObject({ kind: 'action', decision: 'confirmed', terms: { type: 'SPLIT', value: 2 } });
  if (facts?.kind !== 'action') throw new Error('not the facts of an action');
  expect(facts.differences).toHaveLength(1); // the issuer states a ratio of 3 for 1
  const evenEffect = facts.effects.find(({ index_id: index }) => index === 'EVEN')!;
  expect(evenEffect.shares_after! / evenEffect.shares_before!).toBeCloseTo(2, 12);
  expect(evenEffect.divisor_after).toBeCloseTo(evenEffect.divisor_before!, 12);
  expect(formatCode(await decide('ada', id, 'approve'))).toBe('403 APPROVAL_FORBIDDEN');
  expect((await decide('ben', id, 'approve')).body.state).toBe('approved');
  expect(formatCode(await decideAction('rejected'))).toBe('409 APPROVAL_REQUIRED'); // the approval concerned another decision
  expect((await decideAction('confirmed')).body).toMatchObject({ state: 'confirmed' });
});
