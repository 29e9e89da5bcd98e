import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { EXPORT_NAMES } from '../../exports/catalogue.js';
import { EXPORT_FORMATS, FORMAT_NAMES } from '../../exports/formats.js';
import { Id } from '../../schema/shape.js';
import { checkPattern } from '../file-name.js';
import { defineStepKind } from '../step-kind.js';

const help =
  'Writes files of the published runs, such as closing and opening files, and keeps them with the day for delivery.';

/** Maximum number of kinds of files per step. */
const FILES_MAX = 20;

export const FilePattern = z
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

/** Returns the file name pattern of an exported file. */
export const readPattern = ({ name, format }: Pick<ExportedFile, 'name' | 'format'>): string =>
  name ?? `{index}_{date:YYYYMMDD}_{table}.${EXPORT_FORMATS[format].extension}`;

export const exportStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('export'),
    files: z.array(ExportedFile).min(1).max(FILES_MAX).meta({ description: 'Files of each index.' }),
  })).meta({ id: 'ExportStep', description: help }),
  help,
  scope: 'read',
  repeats: true,
});
