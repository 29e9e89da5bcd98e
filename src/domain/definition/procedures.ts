import { z } from 'zod';
import { defineObject, Id, IsoDate } from '../base/schema.js';

export const PROCEDURE_KINDS = {
  cessation: 'Cessation of an index, or transition to another index: conditions, notice, successor.',
  errors: 'Errors in published closes: threshold, window, notice.',
  judgement: 'Expert judgement: who exercises it, in which order, and how it is recorded.',
  inputs: 'Input data: sources, their hierarchy, checks.',
  review: 'Review of methodologies: interval, participants, consultation of clients.',
  complaints: 'Complaints: recipient, deadlines, records.',
  conflicts: 'Conflicts of interest: identification, separation, disclosure.',
  oversight: 'Oversight function: members, terms of reference, meetings.',
  controls: 'Control framework: business continuity, access, outsourcing.',
} as const;

export type ProcedureKind = keyof typeof PROCEDURE_KINDS;
export const PROCEDURE_KIND_NAMES = Object.keys(PROCEDURE_KINDS) as [ProcedureKind, ...ProcedureKind[]]; // Object.keys returns plain strings.

const TEXT_LENGTH_MAX = 100_000;
const INDICES_MAX = 500;

/** Procedure of the administrator; its id is the key of the document. */
export const ProcedureDocument = defineObject(() => ({
  name: z.string().min(1).max(200),
  kind: z.enum(PROCEDURE_KIND_NAMES).meta({ description: 'Subject of the procedure.' }),
  text: z.string().min(1).max(TEXT_LENGTH_MAX).meta({ description: 'Markdown.' }),
  indices: z
    .array(Id)
    .min(1)
    .max(INDICES_MAX)
    .nullable()
    .default(null)
    .meta({ description: 'Indices to which the procedure applies. Default: all indices.', example: ['LARGE-100'] }),
  review_by: IsoDate.nullable().default(null).meta({ description: 'Date of the next review of the procedure.' }),
})).meta({ id: 'ProcedureDocument' });
export type ProcedureDocument = z.infer<typeof ProcedureDocument>;
