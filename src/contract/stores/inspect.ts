import { z } from 'zod';
import { Mapping, MappingChange } from '#domain/documents/mapping.js';
import { Adjustment, TableNames } from '#domain/documents/dataset-document.js';
import { Finding, TableFrame } from '../common.js';

/** Bytes of a file that is inspected from a request, in base64: a larger one is looked at in a folder. */
const CONTENT_CHARS_MAX = 8 << 20;

const MappingAnswers = z
  .strictObject({
    ...MappingChange.shape,
    adjustment: Adjustment.optional().meta({ description: 'Price basis of CLOSE.' }),
  })
  .meta({
    id: 'MappingAnswers',
    description: 'Members of a mapping, and the adjustment, that are said beforehand: they are not asked.',
  });

export const InspectRequest = z
  .strictObject({
    location: z.string().min(1).max(4096).optional().meta({
      description: 'A folder, or the connection URL of a database, as of a store.',
    }),
    content: z
      .string()
      .min(1)
      .max(CONTENT_CHARS_MAX)
      .optional()
      .meta({ description: 'A file in base64 instead; CSV may come as its text.' }),
    format: z.enum(['xlsx', 'csv.zip', 'csv', 'parquet']).default('xlsx').meta({
      description: 'Of the content, as of an import; parquet is one table of prices.',
    }),
    mapping: Mapping.nullable()
      .default(null)
      .meta({ description: 'How it is read, instead of a proposal: what comes of it.' }),
    answers: MappingAnswers.default({}).meta({ description: 'What the proposal takes and does not ask.' }),
    tables: TableNames.default({}).meta({ description: 'File or table of a dataset that is not called like it.' }),
  })
  .refine(({ location, content }) => (location === undefined) !== (content === undefined), {
    params: { finding: 'REQUIRED' },
    error: 'needs exactly one of location and content',
  })
  .meta({ id: 'InspectRequest' });
export type InspectRequest = z.infer<typeof InspectRequest>;

export const InspectResult = z
  .strictObject({
    files: z.int().min(0).meta({ description: 'Files, sheets or tables of the market.' }),
    rows_read: z.int().min(0).meta({ description: 'Bars read with the mapping; 0 where findings refuse them.' }),
    mapping: Mapping.meta({ description: 'As proposed; a store or an import takes it as it is.' }),
    tables: TableNames.meta({ description: 'The table of the market, where a database calls it otherwise.' }),
    adjustment: Adjustment,
    basis: z
      .strictObject({
        adjustment: Adjustment,
        reason: z.string().meta({ description: 'Why it is taken.' }),
        others: z
          .array(
            z
              .strictObject({ adjustment: Adjustment, meaning: z.string().meta({ description: 'What it would say.' }) })
              .meta({ id: 'OtherAdjustment' }),
          )
          .meta({ description: 'What else it could be.' }),
      })
      .meta({ id: 'AdjustmentChoice', description: 'The adjustment that is taken, and why.' }),
    confidence: z.enum(['sure', 'likely', 'unsure']).meta({
      description:
        'sure: a vendor was recognised. likely: the names of columns say it. unsure: a question must be answered.',
    }),
    recognised_as: z.string().nullable().meta({ description: 'Vendor or program the tables are like.' }),
    questions: z.array(z.string()).meta({ description: 'What the data does not say.' }),
    unsure: z
      .array(
        z
          .strictObject({
            field: z
              .enum(['adjustment', ...Object.keys(Mapping.shape)])
              .meta({ description: 'Field of the mapping that says it, or the adjustment.' }),
            question: z.string().meta({ description: 'What the data does not say.' }),
            taken: z.string().nullable().meta({ description: 'Value used without an answer.' }),
            others: z.array(z.string()).meta({ description: 'Other known possibilities.' }),
            required: z.boolean().meta({ description: 'Whether the answer is needed before the data is read.' }),
            conflicts: z
              .array(
                z.strictObject({
                  identifier: z.string(),
                  rows: z.int().min(1).meta({ description: 'Rows that differ from the first of their date.' }),
                  date: z.string().meta({ description: 'Date of the first of them.' }),
                  column: z.string().meta({ description: 'The first value there that differs.' }),
                  first: z.number().nullable().meta({ description: 'That of the first row.' }),
                  other: z.number().nullable().meta({ description: 'That of the later row.' }),
                }),
              )
              .optional()
              .meta({ description: 'Of on_duplicate: the securities whose rows of one date differ, at most 1000.' }),
          })
          .meta({ id: 'MappingQuestion' }),
      )
      .meta({ description: 'The same questions, each at its field.' }),
    preview: TableFrame.meta({ description: 'The first bars of the first name as they would be read.' }),
    findings: z.array(Finding).meta({ description: 'What reading all of it with the mapping found.' }),
  })
  .meta({ id: 'InspectResult' });
export type InspectResult = z.infer<typeof InspectResult>;
