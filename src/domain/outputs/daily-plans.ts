import { z } from 'zod';
import { FINDING_CODES } from '../base/findings.js';
import { findLastAtMost } from '../base/numbers.js';
import { defineObject, Id, IsoDate } from '../base/schema.js';
import { type Day, formatDay, LOCAL_TIME_PATTERN, parseValidDay, toInstant, toLocalDay } from '../base/time.js';
import type { Calendar } from '../calendars/calendar.js';
import { PlanCheck, CHECK_NAMES, secondSourceFields } from '../definition/daily-plan-checks.js';
import { checkPattern } from '../definition/target-addresses.js';
import { ErrorPolicy } from '../definition/publication.js';
import { EXPORT_FORMATS, EXPORT_NAMES, FORMAT_NAMES } from './exports.js';

/** Scopes that a step may require, named like the scopes of keys. */
export type StepScope = 'read' | 'run' | 'data' | 'publish';

/** Kind of step. The code that performs it is in `src/services/daily-plans/steps/`. */
interface StepKind {
  readonly schema: z.ZodObject;
  /** Sentence for the guide and the contract. */
  readonly help: string;
  /**
   * Scope that a key needs to store a plan with this step. A schedule therefore cannot exceed the rights of its author.
   */
  readonly scope: StepScope;
  /** True if the step is repeated in every round of a day, for indices and files that are not done. */
  readonly repeats: boolean;
}

/** Returns a kind of step and keeps its literal types. */
const defineStepKind = <const K extends StepKind>(kind: K): K => kind;

const help =
  'Checks the data and the run of each index before its close is published. A finding blocks its index, or is only reported.';

const checksStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('checks'),
    checks: z
      .array(PlanCheck)
      .min(1)
      .max(4 * CHECK_NAMES.length)
      .nullable()
      .default(null)
      .meta({
        description:
          'Checks with their parameters. Default: all checks that need no parameters; before the step run, only the checks of data.',
      }),
  })).meta({ id: 'ChecksStep', description: help }),
  help,
  scope: 'read',
  repeats: true,
});

const { series, ...fields } = secondSourceFields;
const compareHelp =
  'Compares the level of each index with the level of a second source, a series of the store. A difference blocks the index.';

const compareStep = defineStepKind({
  schema: defineObject(() => ({ type: z.literal('compare'), second_source: series, ...fields })).meta({
    id: 'CompareStep',
    description: compareHelp,
  }),
  help: compareHelp,
  scope: 'read',
  repeats: true,
});

const CLIENTS_MAX = 1000;

const deliverHelp =
  'Delivers the files of earlier steps to the targets of clients, according to their entitlements. A failed delivery does not block other steps.';

const deliverStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('deliver'),
    clients: z
      .array(Id)
      .min(1)
      .max(CLIENTS_MAX)
      .nullable()
      .default(null)
      .meta({
        description: 'Clients. Default: every client that is entitled to a file.',
        example: ['ACME'],
      }),
  })).meta({ id: 'DeliverStep', description: deliverHelp }),
  help: deliverHelp,
  scope: 'publish',
  repeats: true,
});

const exportHelp =
  'Writes files of the published runs, such as closing and opening files, and keeps them with the day for delivery.';

/** Maximum number of kinds of files per step. */
const FILES_MAX = 20;

const FilePattern = z
  .string()
  .min(1)
  .max(200)
  .superRefine((pattern, context) => {
    const problem = checkPattern(pattern);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: `is no pattern: ${problem}` });
  });

const ExportedFile = defineObject(() => ({
  table: z.enum(EXPORT_NAMES).meta({ description: 'Table of the export.', example: 'closing' }),
  format: z.enum(FORMAT_NAMES).default('csv').meta({ description: 'Format of the file.' }),
  name: FilePattern.optional().meta({
    description:
      'Pattern of the file name with {index}, {table}, {schedule} and {date:YYYYMMDD}. Default: {index}_{date:YYYYMMDD}_{table}.FORMAT.',
    example: '{index}_{date:YYYYMMDD}_closing.csv',
  }),
  indices: z.array(Id).min(1).max(500).nullable().default(null).meta({
    description: 'Indices of the plan that have this file. Default: all indices.',
  }),
  by: z.string().min(1).max(64).optional().meta({ description: 'Reference column of the groups of the table.' }),
  from_start: z.boolean().default(false).meta({
    description: 'True writes the whole history up to the session. Default: only the session.',
  }),
  optional: z.boolean().default(false).meta({
    description:
      'True writes no file if the table has no rows on the session, such as a proforma file between announcements.',
  }),
})).meta({ id: 'ExportedFile' });
export type ExportedFile = z.infer<typeof ExportedFile>;

export const readPattern = ({ name, format }: Pick<ExportedFile, 'name' | 'format'>): string =>
  name ?? `{index}_{date:YYYYMMDD}_{table}.${EXPORT_FORMATS[format].extension}`;

const exportStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('export'),
    files: z.array(ExportedFile).min(1).max(FILES_MAX).meta({ description: 'Files of each index.' }),
  })).meta({ id: 'ExportStep', description: exportHelp }),
  help: exportHelp,
  scope: 'read',
  repeats: true,
});

const publishHelp =
  'Publishes the closes of every index up to and including the session. Parents are published before the indices that depend on them. A close is published only once, even if the step is repeated.';

const publishStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('publish'),
    errors: ErrorPolicy.nullable().default(null).meta({
      description: 'Treatment of published closes that differ from the run. Default: the index is held back.',
    }),
    allow_partial: z
      .boolean()
      .default(false)
      .meta({ description: 'True publishes closes for which constituents have no bar. The entries record this.' }),
  })).meta({ id: 'PublishStep', description: publishHelp }),
  help: publishHelp,
  scope: 'publish',
  repeats: true,
});

const refreshHelp =
  'Refreshes the active store, or another data store, from its source. The day waits until the store has prices of the session.';

const refreshStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('refresh'),
    store_id: Id.nullable()
      .optional()
      .meta({ description: 'Data store. Default: the active store.', example: 'europe' }),
    fail_on: z
      .array(z.enum(FINDING_CODES))
      .max(FINDING_CODES.length)
      .default([])
      .meta({ description: 'Finding codes that reject the whole refresh.', example: ['HISTORY_CHANGED'] }),
  })).meta({ id: 'RefreshStep', description: refreshHelp }),
  help: refreshHelp,
  scope: 'data',
  repeats: true,
});

const renderHelp = 'Renders a report of each index as PDF and keeps it with the day for delivery.';

const renderStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('render'),
    template_id: Id.meta({
      description: 'Id of a stored template, or of a built-in template such as FACTSHEET-A4.',
      example: 'FACTSHEET-A4',
    }),
    indices: z.array(Id).min(1).max(500).nullable().default(null).meta({
      description: 'Indices of the plan that have this report. Default: all indices.',
    }),
    name: FilePattern.default('{index}_{date:YYYYMMDD}.pdf').meta({ description: 'Pattern of the file name.' }),
  })).meta({ id: 'RenderStep', description: renderHelp }),
  help: renderHelp,
  scope: 'run',
  repeats: true,
});

const runHelp =
  'Runs every index of the plan with a stored run that is stale or ends before the session, with the settings of that run. Parents are run before derived indices, overlays and blends.';

const runStep = defineStepKind({
  schema: defineObject(() => ({ type: z.literal('run') })).meta({ id: 'RunStep', description: runHelp }),
  help: runHelp,
  scope: 'run',
  repeats: true,
});

/**
 * All kinds of steps. The build fails if a kind has no function that performs it
 * (`src/services/daily-plans/runner.ts`).
 */
export const STEP_CATALOGUE = {
  refresh: refreshStep,
  checks: checksStep,
  run: runStep,
  compare: compareStep,
  publish: publishStep,
  export: exportStep,
  render: renderStep,
  deliver: deliverStep,
} as const;

export type StepType = keyof typeof STEP_CATALOGUE;
export const STEP_TYPES = Object.keys(STEP_CATALOGUE) as [StepType, ...StepType[]]; // Object.keys returns plain strings.

export type StepOf<T extends StepType> = z.infer<(typeof STEP_CATALOGUE)[T]['schema']>;

export const Step = z.discriminatedUnion('type', [
  STEP_CATALOGUE.refresh.schema,
  STEP_CATALOGUE.checks.schema,
  STEP_CATALOGUE.run.schema,
  STEP_CATALOGUE.compare.schema,
  STEP_CATALOGUE.publish.schema,
  STEP_CATALOGUE.export.schema,
  STEP_CATALOGUE.render.schema,
  STEP_CATALOGUE.deliver.schema,
]);
export type Step = z.infer<typeof Step>;

export const findStepKind = (type: StepType): StepKind => STEP_CATALOGUE[type];

/** Maximum number of indices of a plan, equal to the maximum per request. */
export const PLAN_INDICES_MAX = 500;
const STEPS_MAX = 32;
/** Maximum number of sessions to catch up: a year. */
const CATCH_UP_MAX = 260;

const LocalTime = z.string().regex(LOCAL_TIME_PATTERN, { error: 'must be a time of day, HH:MM, such as 18:30' });

/** Daily plan of an index family as written by a client. */
export const ScheduleBody = defineObject(() => ({
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable().default(null),
  enabled: z.boolean().default(true).meta({ description: 'True if days start automatically.' }),
  indices: z
    .array(Id)
    .min(1)
    .max(PLAN_INDICES_MAX)
    .meta({
      description: 'Indices of the family, in any order. Parents are computed before the indices that depend on them.',
      example: ['LARGE-100', 'EQUAL-100'],
    }),
  calendar: z
    .string()
    .min(1)
    .max(32)
    .meta({ description: 'Exchange whose sessions are the days of the schedule.', example: 'XNYS' }),
  at: LocalTime.meta({ description: 'Local time at which the day of a session starts.', example: '18:30' }),
  day_offset: z.int().min(0).max(7).default(0).meta({
    description: 'Number of days after the session. With 1, the day starts on the next calendar day.',
  }),
  time_zone: z.string().min(1).max(64).nullable().default(null).meta({
    description: 'Time zone of the IANA database. Default: the time zone of the calendar.',
  }),
  deadline_minutes: z.int().min(1).max(10_080).nullable().default(null).meta({
    description:
      'Number of minutes from the start to the deadline of a day. A day that ends after its deadline is late.',
  }),
  retry_minutes: z.int().min(1).max(1440).default(10).meta({
    description: 'Minutes until the next attempt of a day that is waiting or blocked.',
  }),
  starts_on: IsoDate.optional().meta({
    description: 'First session. Default: the session of the day on which the schedule is stored, or the next session.',
  }),
  catch_up: z.int().min(0).max(CATCH_UP_MAX).default(20).meta({
    description: 'Number of sessions that are performed after an outage. Earlier sessions are recorded as missed.',
  }),
  keep_files_days: z.int().min(1).max(36_500).nullable().default(400).meta({
    description:
      'Number of days after the end of a day for which the service keeps its files; null keeps them permanently.',
  }),
  on_failure: z.enum(['continue', 'stop']).default('continue').meta({
    description:
      'Effect of a failed or blocked index: the index and the indices that depend on it are held back (continue), or the whole family is held back (stop).',
  }),
  steps: z.array(Step).min(1).max(STEPS_MAX).meta({ description: 'Steps of a day, in order.' }),
})).meta({ id: 'ScheduleBody' });
export type ScheduleBody = z.infer<typeof ScheduleBody>;

/** Daily plan as it is stored; its id is the key of the document. */
export const ScheduleDocument = ScheduleBody.omit({ starts_on: true })
  .extend({
    starts_on: IsoDate.meta({ description: 'First session.' }),
  })
  .meta({ id: 'ScheduleDocument' });
export type ScheduleDocument = z.infer<typeof ScheduleDocument>;

/**
 * States of a day. `waiting`: it resumes at `next_attempt_at`. `blocked`: indices are held back until the next check at
 * that time. `missed`: the session was too old to catch up.
 */
export const DAY_STATES = ['waiting', 'running', 'blocked', 'done', 'skipped', 'missed'] as const;

export const STEP_STATES = ['pending', 'running', 'waiting', 'failed', 'done'] as const;
export const ITEM_STATES = ['waiting', 'blocked', 'failed', 'done'] as const;
export type ItemState = (typeof ITEM_STATES)[number];

/** File written by a step. */
const OutputFile = defineObject(() => ({
  name: z.string().meta({ description: 'Name of the file.' }),
  bytes: z.int().min(0),
  sha256: z.string(),
})).meta({ id: 'MadeFile' });

const itemFields = {
  key: z.string().meta({ description: 'Index, file, or file and recipient.' }),
  index_id: z.string().nullable().meta({ description: 'Index of the result; null for the whole family.' }),
  state: z.enum(ITEM_STATES).meta({ description: 'Result so far.' }),
  code: z.string().nullable().meta({ description: 'Error code of a failed or blocked result.' }),
  message: z.string().meta({ description: 'Description of the action, or reason why it was not performed.' }),
  at: z.string().meta({ description: 'Time of the result.' }),
  job_id: z.string().nullable().meta({ description: 'Job that performs the action.' }),
};

export const StepItem = defineObject(() => ({
  ...itemFields,
  file: OutputFile.nullable().meta({ description: 'File that was written.' }),
  detail: z.record(z.string(), z.unknown()).nullable().meta({
    description:
      'Further details of the result. For a finding: `check`, `identifier`, `severity`, `measure` (value, limit, unit); for a price move `evidence` (previous_date, previous_close, close, weight); and, if it was accepted, `waived_by` and `reason`.',
  }),
})).meta({ id: 'StepItem' });

export const StoredItem = defineObject(() => ({ ...StepItem.shape, artifact: z.string().nullable() }));
export type StoredItem = z.infer<typeof StoredItem>;

const LogLine = defineObject(() => ({
  at: z.string().meta({ description: 'Time of the line.' }),
  message: z.string(),
})).meta({ id: 'StepLogLine' });

const stepFields = {
  type: z.enum(STEP_TYPES).meta({ description: 'Kind of the step.' }),
  state: z.enum(STEP_STATES).meta({ description: 'State of the step.' }),
  attempts: z.int().min(0).meta({ description: 'Number of attempts that were started.' }),
  started_at: z.string().nullable().meta({ description: 'Start of the first attempt.' }),
  finished_at: z.string().nullable().meta({ description: 'End of the last attempt.' }),
  duration_ms: z.number().min(0).meta({ description: 'Duration of all attempts, in ms.' }),
  message: z.string().meta({ description: 'Description of the result in a sentence.' }),
  code: z.string().nullable().meta({ description: 'Error code of a failed step.' }),
  log: z.array(LogLine).meta({ description: 'Last 100 lines of the log of the step.' }),
};

export const StepRecord = defineObject(() => ({
  ...stepFields,
  held: z.int().min(0).meta({
    description:
      'Indices that the step holds back, including the indices that depend on them. The state of such a step can be done.',
  }),
  indices: z.int().min(0).meta({ description: 'Indices of the schedule.' }),
  items: z.array(StepItem).meta({ description: 'Results by index or file.' }),
})).meta({ id: 'StepRecord' });

export const StoredStep = defineObject(() => ({ ...stepFields, items: z.array(StoredItem) }));
export type StoredStep = z.infer<typeof StoredStep>;

/** Decision of a person to accept findings of a check. */
export const Waiver = defineObject(() => ({
  check: z.enum(CHECK_NAMES).meta({ description: 'Check whose findings are accepted.' }),
  index_id: z
    .string()
    .nullable()
    .meta({ description: 'Index, including the indices that depend on it; null for every index.' }),
  identifier: z.string().nullable().meta({ description: 'Security; null for every finding of the check.' }),
  reason: z.string().meta({ description: 'Why.' }),
  author: z.string().meta({ description: 'Name of the key.' }),
  key_id: z.string().nullable().meta({ description: 'Id of the key.' }),
  at: z.string().meta({ description: 'Time of the decision.' }),
})).meta({ id: 'Waiver' });
export type Waiver = z.infer<typeof Waiver>;

export const HeldIndex = defineObject(() => ({
  index_id: z.string(),
  since: z.string().meta({ description: 'Session since which the index is held back.' }),
  step: z.enum(STEP_TYPES).meta({ description: 'Step that holds the index back.' }),
  code: z.string().nullable(),
  reason: z.string().meta({ description: 'Reason in a sentence.' }),
})).meta({ id: 'HeldIndex' });
export type HeldIndex = z.infer<typeof HeldIndex>;

const dayFields = {
  schedule_id: z.string(),
  date: IsoDate.meta({ description: 'Session.' }),
  state: z.enum(DAY_STATES).meta({ description: 'State of the day.' }),
  reason: z
    .string()
    .nullable()
    .meta({ description: 'Reason why the day waits, is blocked, was skipped or was missed.' }),
  due_at: z.string().meta({ description: 'Scheduled time of the start.' }),
  deadline_at: z.string().nullable().meta({ description: 'Deadline of the day.' }),
  is_late: z.boolean().meta({ description: 'True if the day did not end before the deadline.' }),
  started_at: z.string().nullable().meta({ description: 'Start of the first attempt.' }),
  finished_at: z.string().nullable().meta({ description: 'Time at which the day was done, skipped or missed.' }),
  next_attempt_at: z.string().nullable().meta({
    description:
      'Time at which the day resumes. Null if it has ended, and while it is running unless a decision requested another attempt.',
  }),
  rounds: z.int().min(0).meta({ description: 'Number of times that its steps were performed.' }),
  version: z.int().min(1).nullable().meta({ description: 'Version of the schedule that the day uses.' }),
  author: z.string().meta({ description: 'Author of this version. Closes are published in the name of the author.' }),
  waivers: z.array(Waiver).default([]).meta({ description: 'Findings that people have accepted.' }),
  held: z.array(HeldIndex).meta({ description: 'Indices that are held back.' }),
};

export const ScheduleDay = defineObject(() => ({
  ...dayFields,
  steps: z.array(StepRecord).meta({ description: 'Steps, in order.' }),
})).meta({ id: 'ScheduleDay', description: 'Day of a session: its plan and its results.' });
export type ScheduleDay = z.infer<typeof ScheduleDay>;

export const ScheduleDaySummary = defineObject(() => ({
  ...dayFields,
  step: z.enum(STEP_TYPES).nullable().meta({ description: 'First step that is not done; null if all steps are done.' }),
})).meta({ id: 'ScheduleDaySummary' });
export type ScheduleDaySummary = z.infer<typeof ScheduleDaySummary>;

/** Lease on a day: no other process works on the day until the lease ends. */
const Lease = defineObject(() => ({ holder: z.string(), until: z.string() }));

/** Request to perform a day again: the schedule to follow, and the steps without results. */
const Renewal = defineObject(() => ({
  plan: ScheduleDocument,
  version: dayFields.version,
  author: dayFields.author,
  key_id: z.string().nullable(),
  again: z.array(z.enum(STEP_TYPES)),
}));
export type Renewal = z.infer<typeof Renewal>;

export const DayDocument = defineObject(() => ({
  ...dayFields,
  key_id: z.string().nullable(),
  plan: ScheduleDocument,
  /** Request that a person made while the day was being worked on. It takes effect at the end of that round. */
  renewal: Renewal.optional(),
  lease: Lease.nullable(),
  steps: z.array(StoredStep),
}));
export type DayDocument = z.infer<typeof DayDocument>;

/** Progress of a schedule. From it the engine knows which days are open. */
export const ScheduleState = defineObject(() => ({
  /** Last session that has a day; null before the first day. */
  through: IsoDate.nullable(),
  /** Sessions whose days have not ended, ascending. */
  open: z.array(IsoDate),
  /** First session that may still have files; absent before the first search for old files. */
  files_from: IsoDate.optional(),
  /** Day of the last search for old files. */
  pruned_on: IsoDate.optional(),
}));
export type ScheduleState = z.infer<typeof ScheduleState>;

/** Maximum number of stored log lines per step. */
export const LOG_LINES_MAX = 100;

export interface DueDay {
  readonly date: string;
  readonly dueMs: number;
  readonly deadlineMs: number | null;
}

type Plan = Pick<ScheduleDocument, 'at' | 'day_offset' | 'time_zone' | 'deadline_minutes'>;

/** Returns the time at which the day of a session is due, and its deadline. */
export function findDueDay(session: Day, plan: Plan, calendar: Pick<Calendar, 'tz'>): DueDay {
  const zone = plan.time_zone ?? calendar.tz;
  const dueMs = toInstant({ day: session + plan.day_offset, time: plan.at, zone });
  const { deadline_minutes: minutes } = plan;
  return { date: formatDay(session), dueMs, deadlineMs: minutes === null ? null : dueMs + minutes * 60_000 };
}

/**
 * Returns the sessions after a given one whose days are due, ascending.
 * @param after last session that has a day; null before the first day
 */
export function listDueDays(
  plan: ScheduleDocument,
  calendar: Calendar,
  { after, nowMs }: { readonly after: string | null; readonly nowMs: number },
): readonly DueDay[] {
  const { sessions } = calendar;
  const first = Math.max(after === null ? 0 : parseValidDay(after) + 1, parseValidDay(plan.starts_on));
  const today = toLocalDay(plan.time_zone ?? calendar.tz, nowMs);
  const due: DueDay[] = [];
  for (let i = findLastAtMost(sessions, first - 1) + 1; i < sessions.length && sessions[i]! <= today; i++) {
    const day = findDueDay(sessions[i]!, plan, calendar);
    if (day.dueMs <= nowMs) due.push(day);
  }
  return due;
}

/** Returns the first session whose day is not yet due; undefined at the end of the calendar. */
export function findNextDay(plan: ScheduleDocument, calendar: Calendar, nowMs: number): DueDay | undefined {
  const { sessions } = calendar;
  const from = Math.max(
    toLocalDay(plan.time_zone ?? calendar.tz, nowMs) - plan.day_offset - 1,
    parseValidDay(plan.starts_on),
  );
  for (let i = findLastAtMost(sessions, from - 1) + 1; i < sessions.length; i++) {
    const day = findDueDay(sessions[i]!, plan, calendar);
    if (day.dueMs > nowMs) return day;
  }
  return undefined;
}

/** Order in which the indices of a plan are computed and published. */
export interface FamilyOrder {
  /** Waves of index ids: each wave depends only on earlier waves. Ids ascend within a wave. */
  readonly waves: readonly (readonly string[])[];
  /** All indices of the plan on which an index depends, directly or indirectly. */
  readonly ancestors: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Orders the indices of a plan: parents come before derived indices, overlays and blends. If an index depends on an
 * index outside the plan, the indices of the plan behind that one count as its parents.
 * @param ids indices of the plan, without duplicates
 * @param parentsOf returns the indices on which an index depends, in the plan or not
 * @returns waves. Indices that depend on each other in a cycle, which valid definitions exclude, are in the last wave.
 */
export function sortFamily(ids: readonly string[], parentsOf: (id: string) => readonly string[]): FamilyOrder {
  const plannedIds = new Set(ids);
  const ancestorsById = new Map<string, ReadonlySet<string>>();
  function listAncestors(id: string, below: ReadonlySet<string>): ReadonlySet<string> {
    const cachedDepth = ancestorsById.get(id);
    if (cachedDepth !== undefined) return cachedDepth;
    if (below.has(id)) return new Set();
    const parents = new Set<string>();
    for (const parent of parentsOf(id)) {
      parents.add(parent);
      for (const ancestor of listAncestors(parent, new Set([...below, id]))) parents.add(ancestor);
    }
    parents.delete(id);
    ancestorsById.set(id, parents);
    return parents;
  }
  const ancestors = new Map(
    ids.map(
      (id) => [id, new Set([...listAncestors(id, new Set())].filter((parent) => plannedIds.has(parent)))] as const,
    ),
  );
  const waves: string[][] = [];
  const orderedIds = new Set<string>();
  while (orderedIds.size < plannedIds.size) {
    const openIds = [...plannedIds].filter((id) => !orderedIds.has(id)).toSorted();
    const readyIds = openIds.filter((id) => [...ancestors.get(id)!].every((parent) => orderedIds.has(parent)));
    const wave = readyIds.length > 0 ? readyIds : openIds;
    waves.push(wave);
    for (const id of wave) orderedIds.add(id);
  }
  return { waves, ancestors };
}
