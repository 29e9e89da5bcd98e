import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { CheckMeasure } from './checks/check-kind.js';

/** Decisions of people about a day. Each decision is kept permanently, with its reason. */
export const JUDGEMENT_ACTIONS = ['run', 'backfill', 'skip', 'waive'] as const;

/** Finding of a check that a person accepts. */
export const AcceptedFinding = defineObject(() => ({
  index_id: z.string(),
  identifier: z.string().nullable().meta({ description: 'Security or series; null for the whole index.' }),
  message: z.string().meta({ description: 'Description of the finding in a sentence.' }),
  measure: CheckMeasure.nullable().meta({ description: 'Value and limit; null for a finding without a value.' }),
})).meta({ id: 'AcceptedFinding' });
export type AcceptedFinding = z.infer<typeof AcceptedFinding>;

/** Decision of a person about a schedule. */
export const Judgement = defineObject(() => ({
  seq: z.int().min(1).meta({ description: 'Number, from 1 without gaps, counted by schedule.' }),
  at: z.string().meta({ description: 'Time of the decision, ISO-8601 UTC with offset.' }),
  author: z.string().meta({ description: 'Name of the key; `local` without authentication.' }),
  key_id: z.string().nullable().meta({ description: 'Id of the key; null without authentication.' }),
  action: z.enum(JUDGEMENT_ACTIONS).meta({ description: 'Decision.' }),
  schedule_id: z.string(),
  date: z.string().meta({ description: 'Session of the decision; for a backfill, the first session.' }),
  last_date: z.string().nullable().default(null).meta({
    description: 'Last session of a backfill; null for other decisions and for backfills of earlier versions.',
  }),
  sessions: z
    .int()
    .min(1)
    .nullable()
    .default(null)
    .meta({ description: 'Number of sessions of the decision; null for decisions of earlier versions.' }),
  indices: z.array(z.string()).default([]).meta({
    description: 'Indices of the decision, in the order of the schedule; empty for decisions of earlier versions.',
  }),
  index_id: z.string().nullable().default(null).meta({ description: 'Index of a waiver; null for every index.' }),
  check: z.string().nullable().default(null).meta({ description: 'Check that was waived; null for other decisions.' }),
  identifier: z
    .string()
    .nullable()
    .default(null)
    .meta({ description: 'Security of a waiver; null for every finding of the check.' }),
  findings: z.array(AcceptedFinding).default([]).meta({ description: 'Findings that a waiver accepted; at most 200.' }),
  approval_id: z
    .int()
    .nullable()
    .default(null)
    .meta({ description: 'Approval of the decision; null if it needed none.' }),
  approved_by: z.array(z.string()).default([]).meta({ description: 'Names of the people who approved the decision.' }),
  reason: z.string().nullable().meta({ description: 'Why.' }),
})).meta({ id: 'Judgement', description: 'Decision of a person about a day of a schedule.' });
export type Judgement = z.infer<typeof Judgement>;
