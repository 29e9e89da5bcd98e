import { describe, expect, test } from 'vitest';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { listIndexDates } from '#domain/definition/index-schedule.js';
import {
  checkDateOrder,
  checkPhase,
  countNoticeSessions,
  RebalanceSpec,
  validateRebalance,
} from '#domain/definition/schedule.js';
import { getCalendar, schedule, type Spec } from './schedule-case.js';

/**
 * Returns the dates of each rebalance after the first: effective date, reference date, announcement date and pricing
 * date.
 */
const listRows = (spec: Spec, from: string, to: string, code = 'XNYS') =>
  schedule(spec, from, to, { code })
    .slice(1)
    .map(({ session, decision, announcement = decision, pricing = decision }) =>
      [session, decision, announcement, pricing].map(formatDay).join(' '),
    );

const createCadence = (spec: Spec, base = '2024-01-02', code = 'XNYS') => ({
  rebalance: RebalanceSpec.parse(spec),
  calendar: getCalendar(code),
  baseDay: parseValidDay(base),
  path: 'rebalance',
});

describe('dates of a review on the sessions of New York', () => {
  test('third Friday with the last session of the previous month as reference', () => {
    const spec: Spec = { anchor: 'third_friday', reference: { rule: 'last_session', months_before: 1 } };
    expect(listRows(spec, '2024-01-02', '2024-12-31').map((row) => row.slice(0, 21))).toEqual([
      '2024-03-15 2024-02-29',
      '2024-06-21 2024-05-31',
      '2024-09-20 2024-08-30',
      '2024-12-20 2024-11-29',
    ]);
  });

  test('S&P 500 Equal Weight: priced on the second Friday, effective after the third', () => {
    const spec: Spec = {
      anchor: 'third_friday',
      reference: { rule: 'nth_weekday', nth: 1, weekday: 4 },
      announcement: { rule: 'sessions_before', sessions: 10 },
      pricing_date: { rule: 'nth_weekday', nth: 2, weekday: 4 },
    };
    // Juneteenth 2024 is a Wednesday. Ten sessions before Friday 21 June is Thursday 6 June, and 7 June is the first
    // Friday.
    expect(
      listRows({ ...spec, reference: { rule: 'sessions_before', sessions: 12 } }, '2024-01-02', '2024-12-31'),
    ).toEqual([
      '2024-03-15 2024-02-28 2024-03-01 2024-03-08',
      '2024-06-21 2024-06-04 2024-06-06 2024-06-14',
      '2024-09-20 2024-09-04 2024-09-06 2024-09-13',
      '2024-12-20 2024-12-04 2024-12-06 2024-12-13',
    ]);
    const [finding] = checkDateOrder(createCadence(spec));
    expect(finding).toMatchObject({
      severity: 'error',
      code: 'INVALID_RANGE',
      path: 'rebalance.announcement',
      value: '2024-06-06',
    });
    expect(finding!.message).toContain('effective on 2024-06-21, which is before the reference date 2024-06-07');
  });

  test('weekly on Fridays across holidays, announced on Wednesdays', () => {
    const spec: Spec = {
      frequency: 'weekly',
      weekday: 4,
      roll: 'preceding',
      reference: { rule: 'sessions_before', sessions: 5 },
      announcement: { rule: 'weekday_before', weekday: 2, weeks: 0 },
    };
    // Good Friday 2024 is 29 March. Thanksgiving is 28 November. Christmas is a Wednesday.
    expect(listRows(spec, '2024-03-15', '2024-04-08').map((row) => row.slice(0, 32))).toEqual([
      '2024-03-22 2024-03-15 2024-03-20',
      '2024-03-28 2024-03-21 2024-03-27',
      '2024-04-05 2024-03-28 2024-04-03',
    ]);
    expect(listRows(spec, '2024-12-16', '2024-12-31').map((row) => row.slice(0, 32))).toEqual([
      '2024-12-20 2024-12-13 2024-12-18',
      '2024-12-27 2024-12-19 2024-12-24', // the Wednesday is Christmas
    ]);
  });

  test('a day of a month, and the last such weekday at least some weeks before', () => {
    // MSCI prices in the last ten sessions of the previous month. 31 January 2026 is a Saturday. FTSE uses the Monday
    // four weeks earlier.
    const spec: Spec = {
      frequency: 'quarterly',
      months: [2, 5, 8, 11],
      reference: { rule: 'day_of_month', day: 31, months_before: 1 },
      announcement: { rule: 'weekday_before', weekday: 0, weeks: 2 },
    };
    expect(listRows(spec, '2025-12-15', '2026-12-01').map((row) => row.slice(0, 32))).toEqual([
      '2026-02-27 2026-01-30 2026-02-09',
      '2026-05-29 2026-04-30 2026-05-11',
      '2026-08-31 2026-07-31 2026-08-17', // 31 August is a Monday, exactly two weeks after the announcement
      '2026-11-30 2026-10-30 2026-11-16',
    ]);
  });

  test('a numbered session of each month, from its start and from its end', () => {
    const listEffective = (spec: Spec) =>
      listRows({ frequency: 'monthly', anchor: 'nth_session', ...spec }, '2024-01-02', '2024-06-03').map((row) =>
        row.slice(0, 10),
      );
    // Closed in New York: 15 January, 19 February, 29 March and 27 May 2024.
    expect(listEffective({ session: 5 })).toEqual([
      '2024-01-08',
      '2024-02-07',
      '2024-03-07',
      '2024-04-05',
      '2024-05-07',
    ]);
    expect(listEffective({ session: -2 })).toEqual([
      '2024-01-30',
      '2024-02-28',
      '2024-03-27',
      '2024-04-29',
      '2024-05-30',
    ]);
    // February and March have 20 sessions, May and April 22, and January 21.
    expect(listEffective({ session: 22 })).toEqual([
      '2024-01-31',
      '2024-02-29',
      '2024-03-28',
      '2024-04-30',
      '2024-05-31',
    ]);
    expect(listEffective({ session: -21 })).toEqual([
      '2024-02-01',
      '2024-03-01',
      '2024-04-02',
      '2024-05-02',
      '2024-06-03',
    ]);
  });

  test('a number of sessions after an anchor or before it, counted after the anchor has moved to a session', () => {
    const listEffective = (spec: Spec) =>
      listRows({ anchor: 'third_friday', ...spec }, '2024-01-02', '2024-12-31').map((row) => row.slice(0, 10));
    expect(listEffective({ offset: 2 })).toEqual(['2024-03-19', '2024-06-25', '2024-09-24', '2024-12-24']);
    // Juneteenth 2024 is Wednesday 19 June.
    expect(listEffective({ offset: -3 })).toEqual(['2024-03-12', '2024-06-17', '2024-09-17', '2024-12-17']);
    // Good Friday 2024 is 29 March: the anchor is Monday 1 April or Thursday 28 March.
    const march: Spec = { anchor: 'nth_weekday', nth: 5, weekday: 4, months: [3], frequency: 'annual' };
    expect(listEffective({ ...march, offset: 1 })).toEqual(['2024-04-02']);
    expect(listEffective({ ...march, offset: 1, roll: 'preceding' })).toEqual(['2024-04-01']);
    // The anchor is before the base date, and the effective date is after it.
    expect(listEffective({ anchor: 'last_session', months: [12], frequency: 'annual', offset: 10 })).toEqual([
      '2024-01-16',
    ]);
  });

  test('a roll over sessions 5 to 9 with its reference, announcement and pricing dates by numbered sessions', () => {
    const spec: Spec = {
      frequency: 'monthly',
      anchor: 'nth_session',
      session: 5,
      reference: { rule: 'nth_session', session: -1, months_before: 1 },
      announcement: { rule: 'nth_session', session: 1, offset: 1 },
      pricing_date: { rule: 'nth_session', session: 4, offset: -1 },
      phase: { sessions: 5 },
    };
    expect(listRows(spec, '2023-12-29', '2024-04-01')).toEqual([
      '2024-01-08 2023-12-29 2024-01-03 2024-01-04',
      '2024-02-07 2024-01-31 2024-02-02 2024-02-05',
      '2024-03-07 2024-02-29 2024-03-04 2024-03-05',
    ]);
    expect(checkDateOrder(createCadence(spec, '2023-12-29'))).toEqual([]);
    expect(checkPhase(createCadence(spec, '2023-12-29'))).toEqual([]);
  });

  test('the base rebalance reads no data after its session, whatever its rules', () => {
    const spec: Spec = {
      anchor: 'third_friday',
      reference: { rule: 'nth_weekday', nth: 2, weekday: 4 },
      announcement: { rule: 'sessions_before', sessions: 1 },
    };
    const [base] = schedule(spec, '2024-01-02', '2024-12-31');
    expect(formatDay(base!.decision)).toBe('2024-01-02');
    expect(checkDateOrder(createCadence(spec))).toEqual([]);
  });
});

describe('an impossible order of dates is an error with the first affected dates', () => {
  test.each<[string, Spec, string, string]>([
    [
      'reference after the effective date',
      { anchor: 'third_friday', reference: { rule: 'last_session', months_before: 0 } },
      'rebalance.reference',
      'gives 2024-03-28 for the rebalance effective on 2024-03-15, which is after the effective date 2024-03-15',
    ],
    [
      'announcement on the effective date',
      { anchor: 'third_friday', effective_lag: 5, announcement: { rule: 'nth_weekday', nth: 3, weekday: 4 } },
      'rebalance.announcement',
      'gives 2024-03-15 for the rebalance effective on 2024-03-15, which is not before the effective date 2024-03-15',
    ],
    [
      'pricing before the reference',
      { anchor: 'third_friday', effective_lag: 5, pricing_date: { rule: 'sessions_before', sessions: 6 } },
      'rebalance.pricing_date',
      'gives 2024-03-07 for the rebalance effective on 2024-03-15, which is before the reference date 2024-03-08',
    ],
  ])('%s', (_, spec, path, message) => {
    const findings = checkDateOrder(createCadence(spec));
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ severity: 'error', code: 'INVALID_RANGE', path });
    expect(findings[0]!.message).toContain(message);
  });

  test('a rule without its parameters, a notice combined with a reference date, and increments that do not sum to 1', () => {
    const result = validateRebalance(
      RebalanceSpec.parse({
        effective_lag: 3,
        reference: { rule: 'nth_weekday', nth: 2 },
        announcement: { rule: 'sessions_before', sessions: 2, weeks: 3 },
        phase: { fractions: [0.5, 0.4] },
      }),
      'rebalance',
    );
    expect(result.map(({ code, path }) => [code, path])).toEqual([
      ['MISSING_PARAMETER', 'rebalance.reference.weekday'],
      ['NO_EFFECT', 'rebalance.announcement.weeks'],
      ['NO_EFFECT', 'rebalance.effective_lag'],
      ['WEIGHTS_NOT_ONE', 'rebalance.phase.fractions'],
    ]);
    const plainSpec = RebalanceSpec.parse({ phase: {} });
    expect(validateRebalance(plainSpec, 'rebalance').map(({ code, path }) => [code, path])).toEqual([
      ['MISSING_PARAMETER', 'rebalance.phase'],
    ]);
  });

  test('a phase that the next rebalance cuts off', () => {
    const [finding] = checkPhase(createCadence({ frequency: 'weekly', weekday: 0, phase: { sessions: 6 } }));
    expect(finding).toMatchObject({ severity: 'error', code: 'INVALID_RANGE', path: 'rebalance.phase' });
    expect(finding!.message).toContain(
      'the rebalance of 2024-01-08 over 6 closes, up to 2024-01-16, but the next one takes effect on 2024-01-16',
    );
    expect(checkPhase(createCadence({ frequency: 'monthly', phase: { sessions: 10 } }))).toEqual([]);
  });
});

test('a schedule shows every close of a phase, and announces the rebalance once', () => {
  // GSCI rolls from the fifth to the ninth session of January 2025. 9 January was a day of mourning without a session.
  const { rebalance, calendar, baseDay } = createCadence(
    {
      frequency: 'custom',
      dates: ['2025-01-07'],
      announcement: { rule: 'sessions_before', sessions: 2 },
      effective_lag: 3,
      phase: { sessions: 5 },
    },
    '2025-01-02',
  );
  const dates = listIndexDates({ baseDay, cadences: [{ rebalance, calendar }], called: [] }).slice(1);
  expect(
    dates.map(({ date, announcement, isAnnounced }) => [formatDay(date), formatDay(announcement), isAnnounced]),
  ).toEqual([
    ['2025-01-07', '2025-01-03', true],
    ['2025-01-08', '2025-01-03', false],
    ['2025-01-10', '2025-01-03', false],
    ['2025-01-13', '2025-01-03', false],
    ['2025-01-14', '2025-01-03', false],
  ]);
});

test('the sessions from a reference date to its rebalance are within their bound, also if every day is a session', () => {
  for (const code of ['XNYS', '24/7'])
    for (const months_before of [0, 1, 3, 6, 12]) {
      const spec: Spec = {
        frequency: 'monthly',
        anchor: 'last_session',
        reference: { rule: 'day_of_month', day: 1, months_before },
      };
      const { sessions } = getCalendar(code);
      const longest = Math.max(
        ...schedule(spec, '2022-01-03', '2024-12-31', { code }).map(
          ({ session, decision }) => sessions.indexOf(session) - sessions.indexOf(decision),
        ),
      );
      expect(longest).toBeGreaterThan(18 * (months_before + 1));
      expect(longest).toBeLessThanOrEqual(countNoticeSessions(RebalanceSpec.parse(spec)));
    }
});
