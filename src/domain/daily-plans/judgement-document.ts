import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Decisions by people about a day. Each is kept permanently, with its reason. */
export const JUDGEMENT_ACTIONS = ['run', 'backfill', 'skip', 'waive'] as const;

/** A decision of a person about a schedule. */
export const Judgement = defineObject(() => ({
  seq: z.int().min(1).meta({ description: 'From 1, without a gap, by schedule.' }),
  at: z.string().meta({ description: 'Time of the decision, ISO-8601 UTC with offset.' }),
  author: z.string().meta({ description: 'Name of the key; `local` without authentication.' }),
  key_id: z.string().nullable().meta({ description: 'Id of the key; null without authentication.' }),
  action: z.enum(JUDGEMENT_ACTIONS).meta({ description: 'Decision.' }),
  schedule_id: z.string(),
  date: z.string().meta({ description: 'Session concerned, of a backfill the first.' }),
  index_id: z.string().nullable().default(null).meta({ description: 'Index of a waiver; null for every index.' }),
  check: z.string().nullable().default(null).meta({ description: 'Check that was waived; null of other decisions.' }),
  identifier: z
    .string()
    .nullable()
    .default(null)
    .meta({ description: 'Security of a waiver; null for every finding of the check.' }),
  reason: z.string().nullable().meta({ description: 'Why.' }),
})).meta({ id: 'Judgement', description: 'A decision of a person about a day of a schedule.' });
export type Judgement = z.infer<typeof Judgement>;
