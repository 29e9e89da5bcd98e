import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { IsoDate } from '../schema/shape.js';

/**
 * Files of `data/calendars`, which people write and review. A calendar consists of a week, recurring closures, closures
 * on single dates, special sessions and early closes. `README.md` in that folder explains the notation.
 */

/** Weekdays separated by spaces: `mon tue wed thu fri`. */
const Weekdays = z.string().regex(/^(mon|tue|wed|thu|fri|sat|sun)( (mon|tue|wed|thu|fri|sat|sun))*$/);

/** Years and inclusive spans of years. A span with an open end omits the year: `1978-`, `-1994`, `2002 2012-2014`. */
const Years = z.string().regex(/^(\d{4}|\d{4}-|-\d{4}|\d{4}-\d{4})( (\d{4}|\d{4}-|-\d{4}|\d{4}-\d{4}))*$/);

/** Days by year: `MM-DD` and spans `MM-DD..MM-DD`, separated by spaces. */
export const DatesByYear = z.record(
  z.string().regex(/^\d{4}$/),
  z.string().regex(/^\d\d-\d\d(\.\.\d\d-\d\d)?( \d\d-\d\d(\.\.\d\d-\d\d)?)*$/),
);
export type DatesByYear = z.infer<typeof DatesByYear>;

/** Movement of a holiday from weekdays on which it is not observed: `sat-1 sun+1`, `sun> same>`. */
const Observance = z
  .string()
  .regex(/^((mon|tue|wed|thu|fri|sat|sun)([+-]\d|>)|same>)( ((mon|tue|wed|thu|fri|sat|sun)([+-]\d|>)|same>))*$/);

const Recurring = {
  name: z.string().min(1),
  /** Days of each year: see `parseDateRule`. */
  on: z.union([z.string(), z.array(z.string()).min(1)]),
  /** Weekdays to which the rule is limited. */
  only: Weekdays.optional(),
  years: Years.optional(),
  except: Years.optional(),
  note: z.string().optional(),
};

export const RecurringRule = defineObject(() => ({ ...Recurring, observed: Observance.optional() }));
export type RecurringRule = z.infer<typeof RecurringRule>;

export const DatedRule = defineObject(() => ({
  name: z.string().min(1),
  dates: DatesByYear,
  note: z.string().optional(),
}));
export type DatedRule = z.infer<typeof DatedRule>;

export const ClosureRule = z.union([DatedRule, RecurringRule]);
export type ClosureRule = z.infer<typeof ClosureRule>;

const LocalTime = z.string().regex(/^\d\d:\d\d$/);

export const ShortSession = z.union([
  defineObject(() => ({ at: LocalTime, name: z.string().min(1), dates: DatesByYear, note: z.string().optional() })),
  defineObject(() => ({
    at: LocalTime,
    ...Recurring,
    observed: z.union([z.literal('previous-session'), Observance]).optional(),
  })),
]);
export type ShortSession = z.infer<typeof ShortSession>;

/** Rules that several calendars share. */
export const FamilyFile = defineObject(() => ({
  name: z.string().min(1),
  closed: z.array(ClosureRule).default([]),
  early: z.array(ShortSession).default([]),
}));
export type FamilyFile = z.infer<typeof FamilyFile>;

const Sources = z.array(z.string().min(1)).default([]);

export const Coverage = defineObject(() => ({ from: IsoDate, publishedTo: IsoDate, to: IsoDate }));

export const RuleFile = defineObject(() => ({
  code: z.string().min(1),
  name: z.string().min(1),
  country: z.string().min(1),
  tz: z.string().min(1),
  extends: z.array(z.string()).default([]),
  /** Working days: each entry applies from its date `from` on. */
  week: z.array(z.strictObject({ from: IsoDate.optional(), days: Weekdays })).min(1),
  /** Local trading hours; the last entry that applies to a day is used. */
  hours: z
    .array(
      z.strictObject({
        from: IsoDate.optional(),
        /** Weekdays to which the entry applies. */
        days: Weekdays.optional(),
        /** Days of each year to which the entry applies, `MM-DD..MM-DD`. */
        season: z
          .string()
          .regex(/^\d\d-\d\d\.\.\d\d-\d\d$/)
          .optional(),
        open: LocalTime,
        close: LocalTime,
        breaks: z.array(z.tuple([LocalTime, LocalTime])).default([]),
        /** -1 if the session opens on the evening before its date. */
        openDay: z.literal([-1, 0]).default(0),
      }),
    )
    .min(1),
  coverage: Coverage,
  /** Sources of the sessions. */
  sources: Sources,
  closed: z.array(ClosureRule).default([]),
  /** Sessions on days that the working week or a rule would close. */
  open: z.array(DatedRule).default([]),
  early: z.array(ShortSession).default([]),
}));
export type RuleFile = z.infer<typeof RuleFile>;

/** Feast days that are listed instead of computed: by table name, then dates by year. */
export const DateTables = defineObject(() => ({ about: z.string(), tables: z.record(z.string(), DatesByYear) }));
export type DateTables = z.infer<typeof DateTables>;

/** Aliases: codes with the sessions of another code. */
export const AliasFile = z.array(
  defineObject(() => ({
    code: z.string().min(1),
    name: z.string().min(1),
    uses: z.string().min(1),
    note: z.string().optional(),
  })),
);
export type AliasFile = z.infer<typeof AliasFile>;

/** Entries of `index.json`, the list of calendars derived from the rule files and the aliases. */
export const IndexEntry = defineObject(() => ({
  code: z.string(),
  name: z.string(),
  tz: z.string(),
  rules: z.string(),
  coverage: Coverage,
  sources: Sources,
}));
export type IndexEntry = z.infer<typeof IndexEntry>;
export const CalendarIndex = z.array(IndexEntry);
export type CalendarIndex = z.infer<typeof CalendarIndex>;
