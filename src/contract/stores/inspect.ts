import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Mapping, MappingChange } from '#domain/documents/mapping.js';
import { Adjustment, TableNames } from '#domain/documents/dataset-document.js';
import { Finding, TableFrame } from '../common.js';

/** Maximum size of a file in the request, in base64 characters. A larger file must be inspected in a folder. */
const CONTENT_CHARS_MAX = 8 << 20;

const MappingAnswers = defineObject(() => ({
  ...MappingChange.shape,
  adjustment: Adjustment.optional().meta({ description: 'Price basis of CLOSE.' }),
})).meta({
  id: 'MappingAnswers',
  description: 'Known members of the mapping, and the adjustment. The inspection asks no questions about them.',
});

export const InspectRequest = defineObject(() => ({
  location: z.string().min(1).max(4096).optional().meta({
    description: 'Folder, or connection URL of a database, as for a store.',
  }),
  content: z
    .string()
    .min(1)
    .max(CONTENT_CHARS_MAX)
    .optional()
    .meta({ description: 'File in base64, instead of a location. CSV can also be sent as text.' }),
  format: z.enum(['xlsx', 'csv.zip', 'csv', 'parquet']).default('xlsx').meta({
    description: 'Format of the content, as for an import. `parquet` is one table of prices.',
  }),
  mapping: Mapping.nullable().default(null).meta({ description: 'Mapping to test, instead of a proposal.' }),
  answers: MappingAnswers.default({}).meta({
    description: 'Known answers. The inspection asks no questions about them.',
  }),
  tables: TableNames.default({}).meta({
    description: 'File or table of a dataset, if its name differs from the name of the dataset.',
  }),
}))
  .refine(({ location, content }) => (location === undefined) !== (content === undefined), {
    params: { finding: 'REQUIRED' },
    error: 'needs exactly one of location and content',
  })
  .meta({ id: 'InspectRequest' });
export type InspectRequest = z.infer<typeof InspectRequest>;

export const InspectResult = defineObject(() => ({
  files: z.int().min(0).meta({ description: 'Number of files, sheets or tables of the market.' }),
  rows_read: z.int().min(0).meta({ description: 'Number of bars read with the mapping; 0 if findings prevent it.' }),
  mapping: Mapping.meta({ description: 'Proposed mapping, in the form that a store or an import accepts.' }),
  tables: TableNames.meta({ description: 'Table of the market, if it has another name in the database.' }),
  adjustment: Adjustment,
  basis: z
    .strictObject({
      adjustment: Adjustment,
      reason: z.string().meta({ description: 'Reason for the choice.' }),
      others: z
        .array(
          z
            .strictObject({
              adjustment: Adjustment,
              meaning: z.string().meta({ description: 'Meaning of this value.' }),
            })
            .meta({ id: 'OtherAdjustment' }),
        )
        .meta({ description: 'Alternatives.' }),
    })
    .meta({ id: 'AdjustmentChoice', description: 'Proposed adjustment, and its reason.' }),
  confidence: z.enum(['sure', 'likely', 'unsure']).meta({
    description:
      '`sure`: a vendor was recognised. `likely`: the column names indicate the mapping. `unsure`: a question must be answered.',
  }),
  recognised_as: z.string().nullable().meta({ description: 'Vendor or program that writes tables in this format.' }),
  questions: z.array(z.string()).meta({ description: 'Questions that the data does not answer.' }),
  unsure: z
    .array(
      z
        .strictObject({
          field: z
            .enum(['adjustment', ...Object.keys(Mapping.shape)])
            .meta({ description: 'Field of the mapping, or the adjustment, that the answer sets.' }),
          question: z.string().meta({ description: 'Question that the data does not answer.' }),
          taken: z.string().nullable().meta({ description: 'Value that is used without an answer.' }),
          others: z.array(z.string()).meta({ description: 'Other possible values.' }),
          required: z.boolean().meta({ description: 'True if the data cannot be read without an answer.' }),
          conflicts: z
            .array(
              z.strictObject({
                identifier: z.string(),
                rows: z
                  .int()
                  .min(1)
                  .meta({ description: 'Number of rows that differ from the first row of their date.' }),
                date: z.string().meta({ description: 'Date of the first differing row.' }),
                column: z.string().meta({ description: 'Column of the first differing value.' }),
                first: z.number().nullable().meta({ description: 'Value of the first row.' }),
                other: z.number().nullable().meta({ description: 'Value of the later row.' }),
              }),
            )
            .optional()
            .meta({ description: 'For on_duplicate: securities with different rows on one date; at most 1000.' }),
        })
        .meta({ id: 'MappingQuestion' }),
    )
    .meta({ description: 'Questions as findings, each at its field.' }),
  preview: TableFrame.meta({ description: 'First bars of the first security, as read with the mapping.' }),
  findings: z.array(Finding).meta({ description: 'Findings of a complete reading with the mapping.' }),
  faulty_files: z.array(z.string()).meta({
    description:
      'Names of all files, sheets or tables with errors, also of those that `findings` only counts. Empty if not all of them were examined.',
  }),
})).meta({ id: 'InspectResult' });
export type InspectResult = z.infer<typeof InspectResult>;
