import { expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import type { CorporateAction, Membership, ReferenceTable } from '#domain/market/market-data.js';
import { compareTables } from '#market/content/changes.js';

const HELD_MARKET = { identifiers: ['A', 'B'], lastDay: parseValidDay('2024-01-31') };
const NO_CHANGES = { added: 0, changed: 0, removed: 0 };

const createDividend = (identifier: string, exDate: string, value: number): CorporateAction => ({
  identifier,
  type: 'DIVIDEND',
  value,
  exDay: parseValidDay(exDate),
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
});
const createMember = (identifier: string, start: string | null, end: string | null): Membership => ({
  universe: 'U',
  identifier,
  start: start === null ? null : parseValidDay(start),
  end: end === null ? null : parseValidDay(end),
});
const createTable = (
  columns: readonly string[],
  rows: readonly (readonly [string, string | null, readonly (string | number | null)[]])[],
): ReferenceTable => ({
  columns,
  rows: new Map(
    rows.map(([identifier, from, values]) => [
      identifier,
      [{ validFrom: from === null ? null : parseValidDay(from), values }],
    ]),
  ),
});
const EMPTY = { reference: createTable([], []), actions: [], universes: [] };

test('a dividend of another amount is one changed row, also when another of its day stayed', () => {
  const before = {
    ...EMPTY,
    actions: [
      createDividend('A', '2024-01-10', 1),
      createDividend('A', '2024-01-10', 2),
      createDividend('B', '2024-01-11', 3),
    ],
  };
  const after = {
    ...EMPTY,
    actions: [
      createDividend('A', '2024-01-10', 1),
      createDividend('A', '2024-01-10', 2.5),
      createDividend('B', '2024-02-11', 3),
    ],
  };
  const { corporate_actions: changes } = compareTables(before, after, HELD_MARKET);
  // The dividend of B moved to a day after the last stored day. So a past row was removed and a future row was added.
  expect(changes).toMatchObject({ added: 1, changed: 1, removed: 1, history: { added: 0, changed: 1, removed: 1 } });
  expect(changes.restatements).toEqual([
    {
      dataset: 'corporate_actions',
      identifier: 'A',
      date: '2024-01-10',
      column: 'DIVIDEND.value',
      before: 2,
      after: 2.5,
    },
    {
      dataset: 'corporate_actions',
      identifier: 'B',
      date: '2024-01-11',
      column: 'DIVIDEND.value',
      before: 3,
      after: null,
    },
  ]);
});

test('an announced dividend is continued when it is paid; with another amount it is changed', () => {
  const createState = (value: number, status: 'announced' | 'paid') => ({
    ...EMPTY,
    actions: [{ ...createDividend('A', '2024-01-10', value), status }],
  });
  expect(
    compareTables(createState(1, 'announced'), createState(1, 'paid'), HELD_MARKET).corporate_actions,
  ).toMatchObject({
    added: 1,
    changed: 0,
    history: NO_CHANGES,
    restatements: [],
  });
  expect(
    compareTables(createState(1, 'announced'), createState(2, 'paid'), HELD_MARKET).corporate_actions,
  ).toMatchObject({
    added: 0,
    changed: 1,
    total: 2,
  });
  // A comparison of two data versions reports a different value.
  const literal = compareTables(createState(1, 'announced'), createState(1, 'paid'), {
    ...HELD_MARKET,
    isLiteral: true,
  });
  expect(literal.corporate_actions).toMatchObject({ added: 0, changed: 1, total: 1 });
});

test('a membership that ends after the last stored day is continued; one that ends before it changes history', () => {
  const before = { ...EMPTY, universes: [createMember('A', '2020-01-01', null), createMember('B', null, null)] };
  const after = {
    ...EMPTY,
    universes: [createMember('A', '2020-01-01', '2024-02-01'), createMember('B', null, '2024-01-20')],
  };
  const { universes } = compareTables(before, after, HELD_MARKET);
  expect(universes).toMatchObject({ added: 1, changed: 1, removed: 0, history: { added: 0, changed: 1, removed: 0 } });
  expect(universes.restatements).toEqual([
    { dataset: 'universes', identifier: 'B', date: null, column: 'U.end', before: null, after: '2024-01-20' },
  ]);
});

test('reference values are reported by column, whatever their order, and rows of names without bars are no history', () => {
  const before = {
    ...EMPTY,
    reference: createTable(
      ['NAME', 'SECTOR'],
      [
        ['A', null, ['Alpha', 'Energy']],
        ['B', '2024-02-05', ['Beta', null]],
      ],
    ),
  };
  const after = {
    ...EMPTY,
    reference: createTable(
      ['SECTOR', 'NAME'],
      [
        ['A', null, ['Health', 'Alpha']],
        ['B', '2024-02-05', [null, 'Beta']],
        ['C', null, ['Energy', 'Gamma']],
      ],
    ),
  };
  const { reference } = compareTables(before, after, HELD_MARKET);
  expect(reference).toMatchObject({ added: 1, changed: 1, removed: 0, history: { added: 0, changed: 1, removed: 0 } });
  expect(reference.restatements).toEqual([
    { dataset: 'reference', identifier: 'A', date: null, column: 'SECTOR', before: 'Energy', after: 'Health' },
  ]);
});

test('equal tables have no changes', () => {
  const tables = {
    reference: createTable(['NAME'], [['A', null, ['Alpha']]]),
    actions: [createDividend('A', '2024-01-10', 1)],
    universes: [createMember('A', null, null)],
  };
  for (const { history, ...changes } of Object.values(compareTables(structuredClone(tables), tables, HELD_MARKET)))
    expect([history, changes]).toEqual([NO_CHANGES, { ...NO_CHANGES, restatements: [], total: 0 }]);
});

test('an election that is changed is one changed term', () => {
  const scrip = { ...createDividend('A', '2024-01-10', 1), scripRatio: 0.02 };
  const before = { ...EMPTY, actions: [scrip] };
  const after = { ...EMPTY, actions: [{ ...scrip, electionDay: parseValidDay('2024-01-25') }] };
  const { corporate_actions: changes } = compareTables(before, after, HELD_MARKET);
  expect(changes.restatements).toEqual([
    {
      dataset: 'corporate_actions',
      identifier: 'A',
      date: '2024-01-10',
      column: 'DIVIDEND.election_date',
      before: null,
      after: '2024-01-25',
    },
  ]);
});
