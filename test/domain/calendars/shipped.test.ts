import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  AliasFile,
  compareSessions,
  type Corrections,
  correctReference,
  createCalendarFileName,
  FamilyFile,
  indexCalendars,
  RuleFile,
} from '#domain/calendars/exchange-calendars.js';
import { formatDay, parseValidDay, toCivilDate } from '#domain/base/time.js';
import { CALENDAR_FOLDER, openCalendars, readCalendarFile } from '#market/serve/calendar-files.js';
import { readCorrections, readReferences } from '#cli/commands/calendars.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SHARED = join(ROOT, '../shared/calendars');
/**
 * Days on which the calendars follow the announcement of an exchange and not the reference. data/calendars/README.md
 * lists the sources.
 */
const CONFIRMED_CLOSURES: Corrections = {
  XIDX: [{ close: ['2025-08-18'], open: [], confidence: 'confirmed' }],
  XKLS: [{ close: ['2021-12-03'], open: [], confidence: 'confirmed' }],
  XMOS: [{ close: [], open: ['2026-03-09', '2026-05-11'], confidence: 'confirmed' }],
  XPHS: [{ close: ['2020-11-12', '2022-09-26', '2024-07-24'], open: [], confidence: 'confirmed' }],
  XSAU: [{ close: ['2022-09-22', '2025-06-10'], open: [], confidence: 'confirmed' }],
};
const calendars = openCalendars();
const names = readdirSync(CALENDAR_FOLDER).filter(
  (name) => name.endsWith('.json') && !['index.json', 'aliases.json', 'dates.json'].includes(name),
);
const files = names.map((name) => RuleFile.parse(readCalendarFile(CALENDAR_FOLDER, basename(name, '.json'))));

describe('the shipped calendars', () => {
  test('are at least a hundred codes of at least 68 exchanges', () => {
    expect(calendars.list().length).toBeGreaterThanOrEqual(100);
    expect(files.length).toBeGreaterThanOrEqual(68);
  });

  test('are indexed by their files and aliases, each file under its code', () => {
    const index = indexCalendars(files, AliasFile.parse(readCalendarFile(CALENDAR_FOLDER, 'aliases')));
    expect(readCalendarFile(CALENDAR_FOLDER, 'index')).toEqual(index);
    expect(names).toEqual(files.map(({ code }) => `${createCalendarFileName(code)}.json`));
  });

  test('are listed by code in zones that exist, regions being their first segments', () => {
    const list = calendars.list();
    expect(list.map(({ code }) => code)).toEqual(list.map(({ code }) => code).toSorted());
    for (const { code, tz, region } of list) {
      expect(() => new Intl.DateTimeFormat('en', { timeZone: tz }), code).not.toThrow();
      expect(region, code).toBe(tz.split('/')[0]);
    }
  });

  test('cover a range in order and never beyond what is published where tables rule', () => {
    for (const { code, coverage } of calendars.list()) {
      expect(coverage.from, code).toBeLessThan(coverage.publishedTo);
      expect(coverage.publishedTo, code).toBeLessThanOrEqual(coverage.to);
    }
  });

  test('have hours on every session and early closes on sessions alone', () => {
    for (const { code } of calendars.list()) {
      const calendar = calendars.get(code)!;
      for (const day of calendar.sessions)
        if (calendar.hoursOn(day) === undefined) expect.fail(`${code} has no hours on ${formatDay(day)}`);
      for (const day of calendar.earlyCloses.keys())
        expect(calendar.isSession(day), `${code} ${formatDay(day)}`).toBe(true);
    }
  });

  test('name every rule, and use every family and no unknown one', () => {
    const families = readdirSync(join(CALENDAR_FOLDER, 'families')).map((name) => basename(name, '.json'));
    for (const name of families)
      expect(() => FamilyFile.parse(readCalendarFile(CALENDAR_FOLDER, `families/${name}`)), name).not.toThrow();
    expect([...new Set(files.flatMap((file) => file.extends))].toSorted()).toEqual(families.toSorted());
  });

  test('are ascending, without doubles, and agree with their own bits', () => {
    for (const { code, coverage } of calendars.list()) {
      const { sessions, isSession } = calendars.get(code)!;
      let rowCount = 0;
      for (let day = coverage.from; day <= coverage.to; day++)
        if (isSession(day) && sessions[rowCount++] !== day) expect.fail(`${code} ${formatDay(day)}`);
      expect(rowCount, code).toBe(sessions.length);
    }
  });

  test('equal the answer key in every year they cover', () => {
    const golden: Record<string, Record<string, string>> = JSON.parse(
      readFileSync(join(ROOT, 'test/golden/calendars/year-keys.json'), 'utf8'),
    );
    expect(Object.keys(golden).toSorted()).toEqual(files.map(({ code }) => code).toSorted());
    for (const [code, years] of Object.entries(golden)) {
      const keys = listYearKeys(code);
      expect(Object.fromEntries(Object.keys(years).map((year) => [year, keys.get(Number(year))])), code).toEqual(years);
    }
  });

  test.skipIf(!existsSync(SHARED))(
    `equal the reference with its high-confidence corrections and the confirmed days${existsSync(SHARED) ? '' : ` (skipped: no ${SHARED})`}`,
    () => {
      const corrections = readCorrections(join(SHARED, 'corrections.json'));
      const references = readReferences(join(SHARED, 'reference'));
      expect(references.length).toBe(71);
      for (const reference of references) {
        const calendar = calendars.get(reference.code)!;
        const correctedReference = correctReference(
          correctReference(reference, corrections, ['high']),
          CONFIRMED_CLOSURES,
          ['confirmed'],
        );
        expect(compareSessions(calendar, correctedReference).years, reference.code).toEqual([]);
      }
    },
  );

  test.skipIf(!existsSync(SHARED))(
    `equal the session counts of every covered year${existsSync(SHARED) ? '' : ` (skipped: no ${SHARED})`}`,
    () => {
      const counts: Record<string, Record<string, string>> = JSON.parse(
        readFileSync(join(SHARED, 'year-counts.json'), 'utf8'),
      );
      // Years whose counts are older than the corrections of the reference.
      const olderCounts = Object.entries(readCorrections(join(SHARED, 'corrections.json')))
        .filter(([code]) => code === 'XBOM' || code === 'XJSE')
        .flatMap(([code, entries]) =>
          entries.flatMap(({ close, open }) => [...close, ...open].map((day) => `${code} ${day.slice(0, 4)}`)),
        );
      const confirmedYears = new Set(
        Object.entries(CONFIRMED_CLOSURES).flatMap(([code, entries]) =>
          entries.flatMap(({ close, open }) => [...close, ...open].map((day) => `${code} ${day.slice(0, 4)}`)),
        ),
      );
      let comparedCount = 0;
      for (const [code, years] of Object.entries(counts)) {
        const { coverage } = calendars.get(code)!;
        const keys = listYearKeys(code);
        for (const [year, expected] of Object.entries(years)) {
          if (
            confirmedYears.has(`${code} ${year}`) ||
            olderCounts.includes(`${code} ${year}`) ||
            parseValidDay(`${year}-01-01`) < coverage.from ||
            parseValidDay(`${year}-12-31`) > coverage.to
          )
            continue;
          expect(keys.get(Number(year)), `${code} ${year}`).toBe(expected.split(':raw')[0]);
          comparedCount++;
        }
      }
      expect(comparedCount).toBeGreaterThan(2000);
    },
  );
});

/** Returns `count:hash` of the sessions of each year. The stored expected values have the same form. */
function listYearKeys(code: string): Map<number, string> {
  const byYear = new Map<number, string[]>();
  for (const day of calendars.get(code)!.sessions) {
    const { year } = toCivilDate(day);
    const days = byYear.get(year) ?? [];
    days.push(formatDay(day));
    byYear.set(year, days);
  }
  const formatKey = (days: readonly string[]) =>
    `${days.length}:${createHash('sha256').update(days.join(',')).digest('hex').slice(0, 8)}`;
  return new Map([...byYear].map(([year, days]) => [year, formatKey(days)]));
}
