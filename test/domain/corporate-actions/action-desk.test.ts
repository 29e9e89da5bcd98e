import { expect, test } from 'vitest';
import {
  type ActionDecision,
  compareSources,
  findDeskState,
  listFlags,
  readTerms,
} from '#domain/definition/action-desk.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { parseValidDay } from '#domain/base/time.js';

const EX_DAY = parseValidDay('2026-11-24');
const createAction = (change: Partial<CorporateAction> = {}): CorporateAction => ({
  identifier: 'A',
  type: 'DIVIDEND',
  value: 1,
  exDay: EX_DAY,
  payDay: EX_DAY + 10,
  status: 'announced',
  announcedDay: EX_DAY - 20,
  related: null,
  subscriptionPrice: null,
  ...change,
});
const createDecision = (outcome: ActionDecision['decision'], action = createAction()): ActionDecision => ({
  decision: outcome,
  terms: readTerms(action),
  sources: [],
  comment: null,
  author: 'ada',
  key_id: null,
  at: '2026-11-20T10:00:00.000Z',
});

test('an action is new until a decision, and again after it is reopened', () => {
  const terms = readTerms(createAction());
  expect(findDeskState(terms, undefined)).toBe('new');
  expect(findDeskState(terms, createDecision('confirmed'))).toBe('confirmed');
  expect(findDeskState(terms, createDecision('rejected'))).toBe('rejected');
  expect(findDeskState(terms, createDecision('reopened'))).toBe('new');
});

test('an action with other terms than those that were decided on is amended, whichever term changed', () => {
  const changes: Partial<CorporateAction>[] = [{ value: 1.1 }, { payDay: null }, { subscriptionPrice: 3 }, { cash: 2 }];
  for (const change of changes) {
    expect(findDeskState(readTerms(createAction(change)), createDecision('confirmed'))).toBe('amended');
    expect(findDeskState(readTerms(createAction(change)), createDecision('rejected'))).toBe('amended');
  }
});

const terms = { others: [], isSession: () => true, closeBefore: 50, isKnown: () => true };

test('an ordinary action has no flags', () => {
  expect(listFlags(createAction(), terms)).toEqual([]);
  expect(listFlags(createAction({ type: 'SPLIT', value: 3 }), terms)).toEqual([]);
});

test.each([
  ['an ex-date without a session', createAction(), { isSession: () => false }, 'not a session'],
  ['a late announcement', createAction({ announcedDay: EX_DAY + 1 }), {}, 'after the ex-date'],
  ['an early payment', createAction({ payDay: EX_DAY - 1 }), {}, 'before the ex-date'],
  ['a second action of its type', createAction(), { others: [createAction({ value: 2 })] }, 'another DIVIDEND'],
  ['an amount of a fifth of the price', createAction({ value: 10.01 }), {}, '20% of the last close'],
  ['no amount', createAction({ value: 0 }), {}, 'not positive'],
  ['a multiplier of a hundred', createAction({ type: 'SPLIT', value: 100 }), {}, 'implausible'],
  ['an unknown security', createAction({ type: 'SPIN_OFF', related: 'B' }), { isKnown: () => false }, 'no security B'],
])('%s is a flag', (_, flagged, change, words) => {
  expect(listFlags(flagged, { ...terms, ...change })).toEqual([expect.stringContaining(words)]);
});

test('a source that agrees, or has no value, is no difference; any other value or ex-date is', () => {
  const of = readTerms(createAction());
  const agrees = { name: 'Issuer', value: 1, ex_date: '2026-11-24' };
  expect(compareSources(of, [agrees, { name: 'Vendor', value: null, ex_date: null }])).toEqual([]);
  expect(compareSources(of, [{ name: 'Vendor', value: 1.5, ex_date: '2026-11-25' }])).toEqual([
    'The value is 1.5 in Vendor and 1 in the store.',
    'The ex-date is 2026-11-25 in Vendor and 2026-11-24 in the store.',
  ]);
});
