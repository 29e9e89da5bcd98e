/** Weekdays in the notation of the rule files, 0 Monday to 6 Sunday as in `toWeekday`. */
export const WEEKDAY_WORDS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export function parseWeekday(word: string): number {
  const weekday = WEEKDAY_WORDS.indexOf(word as (typeof WEEKDAY_WORDS)[number]);
  if (weekday < 0) throw new Error(`not a weekday: ${word}; expected one of ${WEEKDAY_WORDS.join(', ')}`);
  return weekday;
}

/** Returns a mask of weekdays, one bit per day, Monday lowest. */
export function parseWeekdayMask(words: string): number {
  return words.split(' ').reduce((mask, word) => mask | (1 << parseWeekday(word)), 0);
}
