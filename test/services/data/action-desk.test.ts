import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import type { DeskAction, DeskActionDetail, DeskActions } from '#contract/action-desk.js';
import {
  createFamilyOn,
  createFiles,
  performDay,
  listPublishedDates,
  putSchedule,
  SESSIONS,
} from '../daily-plans/family.js';
import { runService, type RunningService } from '../running-service.js';

/** Service with a split in an index that requires confirmed actions. Each test depends on the previous test. */
let service: RunningService;
let folder: Awaited<ReturnType<typeof createFamilyOn>>;
const [day1, day2, day3] = SESSIONS.slice(9) as [string, string, string];

/** Delivers a session, with its corporate actions, as the vendor would. */
async function deliverActions(date: string, actions: readonly string[]): Promise<void> {
  const rows = ['identifier,type,value,ex_date', ...actions];
  const split = (price: number, security: string) => (security === 'AA' && date >= day2 ? price / 2 : price);
  await folder.write({ ...createFiles(date, split), 'corporate_actions.csv': `${rows.join('\n')}\n` });
}

const createQueue = async (query = '') =>
  (await service.ask<{ actions: DeskAction[]; total: number }>('GET', `/actions${query}`)).body;
const decide = (id: string, body: object) => service.ask<DeskAction>('POST', `/actions/${id}/decisions`, body);
const readHeldBy = async (date: string) =>
  (await performDay(service, date)).steps.flatMap(({ items }) =>
    items.flatMap(({ state, message }) => (state === 'blocked' ? [message] : [])),
  );

beforeAll(async () => {
  service = await runService();
  folder = await createFamilyOn(service, 10);
  const steps = [
    { type: 'refresh' },
    { type: 'run' },
    { type: 'checks', checks: [{ check: 'confirmed_actions' }] },
    { type: 'publish' },
  ];
  await putSchedule(service, { enabled: false, indices: ['CORE'], steps });
});
afterAll(() => service.close());

test('a session without actions is published', async () => {
  expect(await readHeldBy(day1)).toEqual([]);
  expect(await listPublishedDates(service, 'CORE')).toHaveLength(10);
});

test('an action that takes effect blocks its index until it is confirmed', async () => {
  await deliverActions(day2, [`AA,SPLIT,2,${day2}`]);
  expect(await readHeldBy(day2)).toEqual([`The SPLIT of AA on ${day2} is not confirmed.`]);
  const { actions, total } = await createQueue('?state=new');
  expect([total, actions.map(({ identifier, type, value, flags }) => [identifier, type, value, flags])]).toEqual([
    1,
    [['AA', 'SPLIT', 2, []]],
  ]);
  const id = actions[0]!.action_id;
  const confirmedAction = await decide(id, {
    decision: 'confirmed',
    sources: [{ name: 'Issuer', value: 2 }],
    comment: 'Notice of the issuer',
  });
  expect(confirmedAction.body).toMatchObject({ state: 'confirmed', flags: [] });
  expect(await readHeldBy(day2)).toEqual([]);
  expect(await listPublishedDates(service, 'CORE')).toHaveLength(11);
});

test('an action shows its effect on each index, before and after', async () => {
  const [action] = (await createQueue()).actions;
  const { body } = await service.ask<z.infer<typeof DeskActionDetail>>('GET', `/actions/${action!.action_id}`);
  const core = body.effects.find(({ index_id: id }) => id === 'CORE')!;
  expect(core.state).toBe('effective');
  // a split of two for one doubles the index shares at half the price
  expect(core.shares_after! / core.shares_before!).toBeCloseTo(2, 12);
  expect(core.divisor_after).toBeCloseTo(core.divisor_before!, 12);
  expect(core).toMatchObject({ dividend_return: null, net_dividend_return: null });
});

test('a list shows the indices that an action affects, as the action itself does, only on request', async () => {
  const { body: listed } = await service.ask<DeskActions>('GET', '/actions?indices=true');
  const [action] = listed.actions;
  const { body } = await service.ask<z.infer<typeof DeskActionDetail>>('GET', `/actions/${action!.action_id}`);
  const effects = body.effects.map(({ index_id, weight_before: weight }) => ({ index_id, weight: weight! }));
  expect(action!.indices!.map(({ index_id: id }) => id)).toContain('CORE');
  expect(action!.indices).toEqual(effects.toSorted((a, b) => b.weight - a.weight));
  expect(listed.indices_unread).toBe(0);
  const { body: plain } = await service.ask<DeskActions>('GET', '/actions');
  expect([plain.actions[0]!.indices, plain.indices_unread]).toEqual([null, null]);
});

test('an action that differs from a source is flagged, and one with changed terms is amended and blocks again', async () => {
  await deliverActions(day3, [`AA,SPLIT,2,${day2}`, `BB,DIVIDEND,0.3,${day3}`]);
  expect(await readHeldBy(day3)).toEqual([`The DIVIDEND of BB on ${day3} is not confirmed.`]);
  const find = async () => (await createQueue('?identifier=BB')).actions[0]!;
  const { action_id: id } = await find();
  const decidedAction = await decide(id, { decision: 'confirmed', sources: [{ name: 'Vendor B', value: 0.25 }] });
  expect(decidedAction.body.flags).toEqual(['The value is 0.25 in Vendor B and 0.3 in the store.']);
  expect((await createQueue('?flagged=true')).actions.map(({ identifier }) => identifier)).toEqual(['BB']);

  await deliverActions(day3, [`AA,SPLIT,2,${day2}`, `BB,DIVIDEND,0.25,${day3}`]);
  const { body } = await service.ask<{ job_id: string }>('POST', '/data/sync', { full: true });
  await service.waitForJob(body.job_id);
  expect(await find()).toMatchObject({ action_id: id, state: 'amended', value: 0.25 });
  await decide(id, { decision: 'rejected', comment: 'Not declared' });
  expect((await find()).state).toBe('rejected');
  expect(await readHeldBy(day3)).toEqual([`The DIVIDEND of BB on ${day3} was rejected, but is still in the store.`]);
  expect((await find()).decisions.map(({ decision, terms }) => [decision, terms.value])).toEqual([
    ['confirmed', 0.3],
    ['rejected', 0.25],
  ]);
  await decide(id, { decision: 'reopened' });
  expect((await find()).state).toBe('new');
  expect((await service.refusal('GET', '/actions/0123456789abcdef0123')).code).toBe('ACTION_NOT_FOUND');
});

test('decisions are in the audit log', async () => {
  const { body } = await service.ask<{ entries: { action: string }[] }>('GET', '/audit?kind=action-decision');
  expect(body.entries.map(({ action }) => action)).toEqual(['created', 'created', 'updated', 'updated']);
});
