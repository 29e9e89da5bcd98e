import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import type { Calendar } from '#domain/calendars/calendar.js';
import { correctCalendars } from '#domain/calendars/exchange-calendars.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { countDaysInMonth, type Day, formatDay, parseValidDay, toCivilDate, toWeekday } from '#domain/base/time.js';
import { listRebalanceDates, RebalanceSpec } from '#domain/definition/schedule.js';
import { getCalendar } from './schedule-case.js';
import { IS_SOAK } from '../../soak.js';

const specs = fc
  .record({
    frequency: fc.constantFrom('daily', 'weekly', 'monthly', 'quarterly', 'semi_annual', 'annual', 'custom', 'none'),
    anchor: fc.constantFrom(
      'first_session',
      'last_session',
      'third_friday',
      'nth_weekday',
      'day_of_month',
      'nth_session',
    ),
    session: fc.integer({ min: -25, max: 25 }).map((number) => number || 1),
    offset: fc.constantFrom(undefined, 0, 1, 5, 20, -1, -7),
    months: fc.option(fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 12 }), { nil: null }),
    weekday: fc.integer({ min: 0, max: 4 }),
    nth: fc.integer({ min: 1, max: 5 }),
    day: fc.integer({ min: 1, max: 31 }),
    roll: fc.constantFrom('following', 'preceding', 'unadjusted'),
    effective_lag: fc.integer({ min: 0, max: 20 }),
    dates: fc.array(fc.integer({ min: parseValidDay('2010-01-01'), max: parseValidDay('2025-12-31') }).map(formatDay), {
      maxLength: 20,
    }),
  })
  .map((spec) => RebalanceSpec.parse(spec));
const codes = fc.constantFrom('XNYS', 'XLON', 'XTKS', 'XSHG', 'ASEX', 'XTAE');
const baseDays = fc.integer({ min: parseValidDay('2005-01-01'), max: parseValidDay('2025-06-30') });
const cases = fc.record({ rebalance: specs, code: codes, baseDay: baseDays });
const findAllSessions = ({ rebalance, code, baseDay }: { rebalance: RebalanceSpec; code: string; baseDay: Day }) => {
  const calendar = getCalendar(code);
  return { calendar, sessions: listRebalanceDates({ rebalance, calendar, baseDay, from: -1e6, to: 1e6 }) };
};

describe('every schedule', () => {
  test('trades on sessions, ascending, from the base date on, each dated on or after its session', () => {
    fc.assert(
      fc.property(cases, (scheduleCase) => {
        const { calendar, sessions } = findAllSessions(scheduleCase);
        const base = sessions[0]!;
        expect(base.session).toBe([...calendar.sessions].find((day) => day >= scheduleCase.baseDay));
        const brokenSessions = sessions.filter(({ date, session, decision }, i) => {
          const previous = sessions[i - 1];
          const onSessions = calendar.isSession(session) && calendar.isSession(decision) && decision <= session;
          const hasOrderedDates =
            date === session ||
            (scheduleCase.rebalance.roll === 'unadjusted' && date > session && !calendar.isSession(date));
          const isAscending = previous === undefined || (session > previous.session && date > previous.date);
          return !(onSessions && hasOrderedDates && isAscending);
        });
        expect(brokenSessions).toEqual([]);
      }),
      { numRuns: IS_SOAK ? 150 : 50 },
    );
  });

  test('counts its lag in sessions', () => {
    fc.assert(
      fc.property(cases, (scheduleCase) => {
        const { calendar, sessions } = findAllSessions(scheduleCase);
        const lag = scheduleCase.rebalance.effective_lag;
        const countedSessions = sessions.map(({ session, decision }) => {
          const position = calendar.sessions.indexOf(session);
          return position - calendar.sessions.indexOf(decision) - (position >= lag ? lag : 0);
        });
        expect(countedSessions.filter((difference) => difference !== 0)).toEqual([]);
      }),
      { numRuns: IS_SOAK ? 40 : 20 },
    );
  });

  test('moves a rebalance to the next session if a closure is recorded for its day, and leaves the others', () => {
    const frequencies = ['weekly', 'monthly', 'quarterly', 'annual'];
    fc.assert(
      fc.property(cases, fc.constantFrom(...frequencies), fc.nat(), (scheduleCase, frequency, pick) => {
        const weekday = frequency === 'weekly' ? null : scheduleCase.rebalance.weekday;
        const rebalance = RebalanceSpec.parse({
          ...scheduleCase.rebalance,
          frequency,
          weekday,
          // A closure between an anchor and its date would move the date by one session.
          offset: (scheduleCase.rebalance.offset ?? 0) > 5 ? 5 : scheduleCase.rebalance.offset,
          roll: 'following',
          dates: [],
        });
        const { calendar, sessions: found } = findAllSessions({ ...scheduleCase, rebalance });
        const sessions = found.slice(1).map(({ session }) => session); // the base date is not an anchor date
        const closedSession = sessions[pick % sessions.length]!;
        const next = calendar.sessions[calendar.sessions.indexOf(closedSession) + 1]!;
        const changes = [{ date: formatDay(closedSession), session: 'closed', reason: 'Storm' } as const];
        const recordedClosures = { [scheduleCase.code]: { version: 1, changes } };
        const after = correctCalendars(openCalendars(), recordedClosures).get(scheduleCase.code)!;
        const { baseDay } = scheduleCase;
        const movedSessions = listRebalanceDates({ rebalance, calendar: after, baseDay, from: -1e6, to: 1e6 });
        const expected = sessions.map((session) => (session === closedSession ? next : session));
        expect(movedSessions.slice(1).map(({ session }) => session)).toEqual([...new Set(expected)]);
      }),
      { numRuns: IS_SOAK ? 150 : 30 },
    );
  });

  test('is the same whichever window is requested', () => {
    fc.assert(
      fc.property(cases, baseDays, fc.integer({ min: 0, max: 3000 }), (scheduleCase, from, length) => {
        const { calendar, sessions } = findAllSessions(scheduleCase);
        const part = listRebalanceDates({
          rebalance: scheduleCase.rebalance,
          calendar,
          baseDay: scheduleCase.baseDay,
          from,
          to: from + length,
        });
        expect(part).toEqual(sessions.filter(({ session }) => session >= from && session <= from + length));
      }),
      { numRuns: IS_SOAK ? 100 : 40 },
    );
  });

  test('by months equals a walk over all days of each month', () => {
    const monthly = cases.filter(
      ({ rebalance }) => !['none', 'daily', 'weekly', 'custom'].includes(rebalance.frequency),
    );
    fc.assert(
      fc.property(monthly, (scheduleCase) => {
        const { calendar, sessions } = findAllSessions(scheduleCase);
        expect(sessions.map(({ date }) => formatDay(date))).toEqual(
          walkMonths(scheduleCase.rebalance, calendar, sessions[0]!.session).map(formatDay),
        );
      }),
      { numRuns: IS_SOAK ? 150 : 50 },
    );
  });
});

const DEFAULT_MONTHS: Record<string, readonly number[]> = {
  monthly: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  quarterly: [3, 6, 9, 12],
  semi_annual: [6, 12],
  annual: [12],
};

/** Walks through the months one day at a time, as the documentation defines the schedules. */
function walkMonths(spec: RebalanceSpec, calendar: Calendar, base: Day): Day[] {
  const result = [base];
  let effectiveDay = base;
  const { to } = calendar.coverage;
  const { offset = 0 } = spec;
  const { year, month } = toCivilDate(base);
  for (let count = year * 12 + month - 1 - (offset > 0 ? 3 : 0); ; count++) {
    const period = { year: Math.floor(count / 12), month: (count % 12) + 1 };
    const days = Array.from({ length: countDaysInMonth(period.year, period.month) }, (_, i) =>
      parseValidDay(`${period.year}-${String(period.month).padStart(2, '0')}-${String(i + 1).padStart(2, '0')}`),
    );
    if (days.at(-1)! > to) return result;
    if (days.at(-1)! < base && days[0]! < calendar.coverage.from) continue;
    if (!(spec.months ?? DEFAULT_MONTHS[spec.frequency]!).includes(period.month)) continue;
    let anchor = findAnchor(spec, days, calendar);
    if (anchor === undefined) continue;
    let session = anchor;
    const step = spec.roll === 'following' ? 1 : -1;
    while (!calendar.isSession(session) && session <= to) session += step;
    for (let left = Math.abs(offset); left > 0 && session <= to;) {
      session += Math.sign(offset);
      if (calendar.isSession(session)) left--;
      anchor = session;
    }
    if (anchor <= base) continue;
    if (session > to || session <= effectiveDay) continue;
    effectiveDay = session;
    result.push(spec.roll === 'unadjusted' ? anchor : session);
  }
}

function findAnchor(spec: RebalanceSpec, days: readonly Day[], { isSession }: Calendar): Day | undefined {
  const listWeekdays = (weekday: number) => days.filter((day) => toWeekday(day) === weekday);
  switch (spec.anchor) {
    case 'first_session':
      return days.find(isSession);
    case 'last_session':
      return days.findLast(isSession);
    case 'third_friday':
      return listWeekdays(4)[2];
    case 'nth_weekday':
      return spec.nth === 5 ? listWeekdays(spec.weekday!).at(-1) : listWeekdays(spec.weekday!)[spec.nth! - 1];
    case 'day_of_month':
      return days[Math.min(spec.day!, days.length) - 1];
    case 'nth_session': {
      const sessions = days.filter(isSession);
      return spec.session! > 0
        ? (sessions[spec.session! - 1] ?? sessions.at(-1))
        : (sessions.at(spec.session!) ?? sessions[0]);
    }
  }
}
