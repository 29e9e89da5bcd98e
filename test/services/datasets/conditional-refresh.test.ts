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

describe('a close that is missing at first', () => {
  const COLUMNS = 'CLOSE,VOLUME';
  const createDay = (date: string, closes: Readonly<Record<string, string>>, volume = 100) =>
    createBars(
      date,
      Object.entries(closes).map(([name, close]) => `${name},${date},${close},${volume}`),
      COLUMNS,
    );
  const first = { ...createDay('2024-01-02', { A: '10', C: '30' }), ...createDay('2024-01-03', { A: '11', C: '' }) };

  test('is added as a late bar to a row with a volume, also with a corrected volume and the next session', () =>
    runWithDesk(async ({ write, load, refresh, store, readWhole }) => {
      await write(first);
      await load();
      await write({
        ...createDay('2024-01-03', { A: '11', C: '31' }),
        ...createBars('2024-01-04', ['A,2024-01-04,12,100', 'C,2024-01-04,32,250'], COLUMNS),
      });
      const report = await refresh({ failOn: ['HISTORY_CHANGED'] });
      expect(report).toMatchObject({ dates_added: 1, rejected: [] });
      expect(report.findings.filter(({ code }) => code !== 'PARTIAL_DATE')).toMatchObject([
        { code: 'LATE_BARS', count: 1, message: expect.stringContaining('of C ') as string },
      ]);
      expect(selectContent(await store())).toEqual(selectContent(await readWhole()));
    }));

  test('is added after the next session was added, and only within the last five dates', () =>
    runWithDesk(async ({ write, load, refresh, store, readWhole }) => {
      await write(first);
      await load();
      await write(createDay('2024-01-04', { A: '12', C: '32' }));
      expect((await refresh()).rejected).toEqual([]);
      await write(createDay('2024-01-03', { A: '11', C: '31' }));
      const report = await refresh();
      expect(report).toMatchObject({ dates_added: 0, rejected: [] });
      expect(report.findings.map(({ code }) => code)).toContain('LATE_BARS');
      expect(selectContent(await store())).toEqual(selectContent(await readWhole()));
      for (const day of ['05', '08', '09', '10', '11'])
        await write(createDay(`2024-01-${day}`, { A: '12', C: day === '05' ? '' : '33' }));
      await refresh();
      await write(createDay('2024-01-12', { A: '12', C: '33' }));
      await refresh();
      await write(createDay('2024-01-05', { A: '12', C: '33' }));
      expect((await refresh()).rejected).toMatchObject([{ identifier: 'C' }]);
    }));

  test('is not added if another close of the security changed', () =>
    runWithDesk(async ({ write, load, refresh, served }) => {
      await write(first);
      await load();
      const before = served();
      await write({
        ...createDay('2024-01-02', { A: '10', C: '29' }),
        ...createDay('2024-01-03', { A: '11', C: '31' }),
      });
      expect((await refresh()).rejected).toMatchObject([{ identifier: 'C' }]);
      expect(served()).toBe(before);
    }));
});
