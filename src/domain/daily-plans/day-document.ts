import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { IsoDate } from '../schema/shape.js';
import { CHECK_NAMES } from './check-catalogue.js';
import { ScheduleDocument } from './schedule-document.js';
import { STEP_TYPES } from './step-catalogue.js';

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

/** Stored item of a step, with the artifact of its file. */
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

/** Index that is held back, with the reason. */
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

/** Day as it is served. */
export const ScheduleDay = defineObject(() => ({
  ...dayFields,
  steps: z.array(StepRecord).meta({ description: 'Steps, in order.' }),
})).meta({ id: 'ScheduleDay', description: 'Day of a session: its plan and its results.' });
export type ScheduleDay = z.infer<typeof ScheduleDay>;

/** Day in listings. */
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
