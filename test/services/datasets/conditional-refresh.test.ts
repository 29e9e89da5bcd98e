import { describe, expect, test } from 'vitest';
import { createBars, selectContent, runWithDesk } from './refresh-desk.js';

test('a dry run reports the changes of a refresh and stores nothing, and the refresh after it makes these changes', () =>
  runWithDesk(async ({ write, load, refresh, store, served, readWhole }) => {
    await write(createBars('2024-01-02', ['A,2024-01-02,10', 'B,2024-01-02,20']));
    await load();
    await write(createBars('2024-01-03', ['A,2024-01-03,11', 'B,2024-01-03,21']));
    const before = [served(), await store()];
    const trial = await refresh({ isTrial: true });
    expect(trial).toMatchObject({ dry_run: true, rows_added: 2, dates_added: 1, end: '2024-01-03' });
    expect([served(), await store()]).toEqual(before);
    expect(await refresh()).toEqual({ ...trial, dry_run: false });
    expect(selectContent(await store())).toEqual(selectContent(await readWhole()));
  }));

describe('a refresh with a finding that fail_on names', () => {
  const names = ['A', 'B', 'C', 'D', 'E'];
  const createDayBars = (date: string, held: readonly string[], close = 10) =>
    createBars(
      date,
      held.map((name) => `${name},${date},${close}`),
    );

  test('is rejected as a whole, before anything is stored, and accepted once the finding disappears', () =>
    runWithDesk(async ({ write, load, refresh, store, served }) => {
      await write({ ...createDayBars('2024-01-02', names), ...createDayBars('2024-01-03', names) });
      await load();
      await write({ ...createDayBars('2024-01-04', names), ...createDayBars('2024-01-05', ['A', 'B']) });
      const before = [served(), await store()];
      const rejectedJob = {
        code: 'REFRESH_REJECTED',
        detail: { findings: [{ code: 'PARTIAL_DATE', path: 'market[2024-01-05]' }] },
      };
      for (const isTrial of [false, true])
        await expect(refresh({ isTrial, failOn: ['PARTIAL_DATE'] })).rejects.toMatchObject(rejectedJob);
      expect([served(), await store()]).toEqual(before);
      expect(await refresh({ failOn: ['HISTORY_CHANGED'], isTrial: true })).toMatchObject({ rows_added: 7 });
      await write(createDayBars('2024-01-05', names));
      expect(await refresh({ failOn: ['PARTIAL_DATE'] })).toMatchObject({ rows_added: 10, findings: [] });
    }));

  test('is rejected for one security with a changed history, and for a new data warning', () =>
    runWithDesk(async ({ write, load, refresh, store }) => {
      await write({ ...createDayBars('2024-01-02', names), ...createDayBars('2024-01-03', names) });
      await load();
      await write({ ...createDayBars('2024-01-02', names, 11), ...createDayBars('2024-01-04', names) });
      await expect(refresh({ failOn: ['HISTORY_CHANGED'] })).rejects.toMatchObject({ code: 'REFRESH_REJECTED' });
      await write({ ...createDayBars('2024-01-02', names), ...createDayBars('2024-01-04', names, 100) });
      await expect(refresh({ failOn: ['PRICE_JUMP'] })).rejects.toMatchObject({ code: 'REFRESH_REJECTED' });
      expect((await store()).end).toBe('2024-01-03');
      await refresh();
      await write(createDayBars('2024-01-05', names, 101));
      expect(await refresh({ failOn: ['PRICE_JUMP'] })).toMatchObject({ rows_added: 5 });
    }));

  test('is not rejected for a partial date that the store already has, which is reported', () =>
    runWithDesk(async ({ write, load, refresh }) => {
      await write({
        ...createDayBars('2024-01-02', names),
        ...createDayBars('2024-01-03', names),
        ...createDayBars('2024-01-04', ['A']),
      });
      await load();
      await write(createDayBars('2024-01-05', names));
      const { findings, ...report } = await refresh({ failOn: ['PARTIAL_DATE'] });
      expect(report).toMatchObject({ rows_added: 5 });
      expect(findings).toMatchObject([{ code: 'PARTIAL_DATE', path: 'market[2024-01-04]' }]);
    }));
});

test('late bars are added to their securities, if the history is otherwise unchanged, and reported', () =>
  runWithDesk(async ({ write, load, refresh, store, readWhole }) => {
    await write({
      ...createBars('2024-01-02', ['A,2024-01-02,10', 'B,2024-01-02,20', 'C,2024-01-02,30']),
      ...createBars('2024-01-03', ['A,2024-01-03,11', 'B,2024-01-03,21']),
    });
    await load();
    await write({
      ...createBars('2024-01-03', ['A,2024-01-03,11', 'B,2024-01-03,21', 'C,2024-01-03,31']),
      ...createBars('2024-01-04', ['A,2024-01-04,12', 'C,2024-01-04,32']),
    });
    const { findings, ...report } = await refresh();
    expect(report).toMatchObject({ rows_added: 3, rows_changed: 0, dates_added: 1, rejected: [] });
    expect(findings.filter(({ code }) => code !== 'PARTIAL_DATE')).toMatchObject([{ code: 'LATE_BARS', count: 1 }]);
    expect(selectContent(await store())).toEqual(selectContent(await readWhole()));
  }));
