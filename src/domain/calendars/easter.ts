import { toDay, type Day } from '../time/days.js';

/**
 * Returns Western Easter Sunday.
 * @source Meeus, Astronomical Algorithms, 2nd edition, chapter 8
 */
export function computeEasterSunday(year: number): Day {
  const a = year % 19;
  const b = Math.floor(year / 100);
  const c = year % 100;
  const d = Math.floor(b / 4);
  const e = b % 4;
  const f = Math.floor((b + 8) / 25);
  const g = Math.floor((b - f + 1) / 3);
  const h = (19 * a + b - d - g + 15) % 30;
  const i = Math.floor(c / 4);
  const k = c % 4;
  const l = (32 + 2 * e + 2 * i - h - k) % 7;
  const m = Math.floor((a + 11 * h + 22 * l) / 451);
  const count = h + l - 7 * m + 114;
  return toDay({ year, month: Math.floor(count / 31), day: (count % 31) + 1 });
}

/**
 * Returns Orthodox Easter Sunday as a Gregorian day: the Julian computus plus the difference between the calendars.
 * @source Meeus, Astronomical Algorithms, 2nd edition, chapter 8
 */
export function computeOrthodoxEasterSunday(year: number): Day {
  const a = year % 4;
  const b = year % 7;
  const c = year % 19;
  const d = (19 * c + 15) % 30;
  const e = (2 * a + 4 * b - d + 34) % 7;
  const count = d + e + 114;
  const julianToGregorian = Math.floor(year / 100) - Math.floor(year / 400) - 2;
  return toDay({ year, month: Math.floor(count / 31), day: (count % 31) + 1 }) + julianToGregorian;
}
