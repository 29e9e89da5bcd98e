import { expect, test } from 'vitest';
import { describeLag } from '#cli/compose/core.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createFreshnessReader } from '#services/shared/service.js';
import type { DocumentStore } from '#store/port.js';
import { createTestContext } from '../context.js';

const createIndex = (id: string, fields = {}) => ({
  id,
  name: id,
  calendar: 'XNYS',
  base_date: '2024-01-02',
  pipeline: { weighting: { type: 'EqualWeight' } },
  ...fields,
});

/** Creates a reader over stored indices. It counts the comparisons. */
function createReader(indices: readonly object[], clock: { now: number }) {
  const counts = { index: 0 };
  const documents: Pick<DocumentStore, 'list'> = {
    list(kind, read) {
      if (kind === 'index') counts.index++;
      const bodies = kind === 'index' ? indices : [];
      return Promise.resolve({
        documents: bodies.flatMap((body, i) => read(body, String(i), { etag: '', updatedAt: '' }) ?? []),
        skipped: 0,
        skipped_causes: { invalid: 0, unsupported: 0, unreadable: 0 },
      });
    },
  };
  const context = createTestContext({ documents, calendars: openCalendars(), now: () => clock.now });
  return { counts, read: createFreshnessReader(context) };
}

const at = (time: string) => ({ now: Date.parse(time) });

test('a store that lacks the session before Thanksgiving is one session behind', async () => {
  // 26 November 2026 is a holiday. It is still 26 November in New York.
  const { read } = createReader([createIndex('CORE'), createIndex('OTHER')], at('2026-11-27T04:28:00Z'));
  const freshness = await read({ active: 'us', end: '2026-11-24' });
  expect(freshness).toEqual([
    {
      store_id: 'us',
      calendar: 'XNYS',
      data_through: '2026-11-24',
      latest_session: '2026-11-25',
      sessions_behind: 1,
    },
  ]);
  expect(describeLag(freshness)).toBe('us ends on 2026-11-24, 1 session of XNYS behind (newest session 2026-11-25).');
});

test('the current day of the exchange is not missing before it ends', async () => {
  const indices = [createIndex('CORE'), createIndex('TOKYO', { calendar: 'XTKS' })];
  const { read } = createReader(indices, at('2026-11-25T21:00:00Z'));
  // After the close in New York it is already 26 November in Tokyo; 23 November is a holiday there.
  const lags = async (end: string) =>
    (await read({ active: 'us', end })).map(({ calendar, sessions_behind: count }) => [calendar, count]);
  expect(await lags('2026-11-24')).toEqual([
    ['XNYS', 0],
    ['XTKS', 1],
  ]);
  expect(await lags('2026-11-25')).toEqual([
    ['XNYS', 0],
    ['XTKS', 0],
  ]);
});

test('a store is compared only with calendars of its indices, and without an index nothing is compared', async () => {
  const { read } = createReader([createIndex('ELSEWHERE', { store_id: 'gone' })], at('2026-11-25T21:00:00Z'));
  expect(await read({ active: 'us', end: '2020-01-02' })).toEqual([]);
  expect(describeLag([])).toBeUndefined();
});

test('an index that refers to another one belongs to the store of that index', async () => {
  const derivation = { source_index_id: 'TOP', objective: 'min_tracking_error', constraints: [] };
  const indices = [
    createIndex('BOTTOM', { store_id: 'gone' }),
    createIndex('TOP', { universe: { kind: 'index', id: 'BOTTOM' } }),
    createIndex('DERIVED', { pipeline: undefined, derivation }),
  ];
  const { read } = createReader(indices, at('2026-11-25T21:00:00Z'));
  expect(await read({ active: 'us', end: '2020-01-02' })).toEqual([]);
});

test('a comparison is kept for a minute, and is repeated at once if the served data changes', async () => {
  const clock = at('2026-11-25T21:00:00Z');
  const { counts, read } = createReader([createIndex('CORE')], clock);
  await read({ active: 'us', end: '2026-11-20' });
  await read({ active: 'us', end: '2026-11-20' });
  expect(counts.index).toBe(1);
  expect((await read({ active: 'us', end: '2026-11-24' }))[0]!.sessions_behind).toBe(0);
  expect(counts.index).toBe(2);
  clock.now += 60_000;
  await read({ active: 'us', end: '2026-11-24' });
  expect(counts.index).toBe(3);
});
