import { z } from 'zod';
import { FINDING_CODES } from '#domain/base/findings.js';
import { type ErrorCode, ERRORS } from '#domain/base/refusals.js';
import { defineObject, IsoDate } from '#domain/base/schema.js';
import { type Format, FORMATS } from '#domain/definition/catalogue.js';

const COMMENT_LENGTH_MAX = 2000;

export const createCommentSchema = (description: string) =>
  z.string().trim().min(1).max(COMMENT_LENGTH_MAX).nullable().default(null).meta({ description });

/** Schemas that several route families share. Their field descriptions come from the specification. */

export const SeriesPayload = defineObject(() => ({
  index: z.array(z.string()).meta({ description: 'Dates YYYY-MM-DD, strictly ascending.' }),
  data: z.array(z.number().nullable()).meta({ description: 'One value per date.' }),
  name: z.string().nullable(),
})).meta({ id: 'SeriesPayload', description: 'Dated series. pandas reads it by pd.Series(**payload).' });
export type SeriesPayload = z.infer<typeof SeriesPayload>;

export const TableFrame = defineObject(() => ({
  index: z.array(z.union([z.string(), z.int()])),
  columns: z.array(z.string()),
  data: z.array(z.array(z.unknown())),
})).meta({
  id: 'TableFrame',
  description: 'Table in the "split" format of pandas. pandas reads it by pd.DataFrame(**frame).',
});
export type TableFrame = z.infer<typeof TableFrame>;

export const FindingPayload = defineObject(() => ({
  severity: z.enum(['error', 'warning', 'info']),
  code: z.enum(FINDING_CODES),
  message: z.string(),
  path: z.string(),
  row_id: z.string().nullable().optional(),
  accepted: z.array(z.string()).nullable().optional(),
  value: z.unknown().optional(),
  count: z.int().min(1).optional(),
  places: z.array(z.string()).optional(),
  first_date: IsoDate.optional(),
  last_date: IsoDate.optional(),
  file: z.string().optional(),
  position: z
    .strictObject({
      start: z.int().min(0).meta({ description: 'Offset of the first character.' }),
      end: z.int().min(0).meta({ description: 'Offset after the last character.' }),
    })
    .optional()
    .meta({
      description: 'Range of characters of an expression that was sent as text: from `start` to before `end`.',
    }),
})).meta({ id: 'Finding', description: 'Result of a check, with its position in the request or in the data.' });

export const ValidationReport = defineObject(() => ({ valid: z.boolean(), findings: z.array(FindingPayload) })).meta({
  id: 'ValidationReport',
});

export const SkippedCauses = defineObject(() => ({
  unreadable: z.int().min(0),
  invalid: z.int().min(0),
  unsupported: z.int().min(0),
})).meta({ id: 'SkippedCauses' });

/** Members of every listing, in addition to its documents. */
export const skippedFields = { skipped: z.int().min(0), skipped_causes: SkippedCauses };

export const ErrorDetailPayload = defineObject(() => ({
  code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
  message: z.string(),
  detail: z.record(z.string(), z.unknown()).nullable(),
})).meta({ id: 'ErrorDetail' });

export const ErrorEnvelope = defineObject(() => ({ error: ErrorDetailPayload })).meta({ id: 'ErrorEnvelope' });

/** Errors of routes that must compute an index from its definition before they respond. */
export const compositionErrors = [
  'EMPTY_INDEX',
  'FX_MISSING',
  'NO_RATE',
  'MISSING_PRICE',
  'NO_DATA_AT_DATE',
  'NO_DATA_IN_RANGE',
  'RANGE_TOO_SHORT',
  'CALENDAR_NOT_COVERED',
  'RISK_INSUFFICIENT_DATA',
  'LOOK_AHEAD',
  'MODEL_LACKS_NAMES',
  'INFEASIBLE',
  'SOLVER_FAILED',
  'NUMERIC_FAILURE',
] as const satisfies readonly ErrorCode[];

const MemberSpec = defineObject(() => ({
  name: z.string(),
  label: z.string(),
  type: z.enum(['number', 'integer', 'boolean', 'string', 'json']),
  required: z.boolean(),
  default: z.unknown().optional(),
  order: z.int().min(0),
  choices: z.array(z.string()).nullable(),
  help: z.string().nullable(),
  ref: z.string().nullable(),
  format: z
    .enum(Object.keys(FORMATS) as [Format, ...Format[]])
    .nullable()
    .meta({
      description: `Format of a text or a list; null if the type determines it. ${Object.entries(FORMATS)
        .map(([format, meaning]) => `\`${format}\`: ${meaning}`)
        .join('; ')}.`,
    }),
  when: z
    .array(z.record(z.string(), z.array(z.string())))
    .nullable()
    .meta({
      description:
        'Conditions on other parameters under which this parameter is used: accepted values by parameter name. One matching entry is sufficient. Null: always used.',
    }),
})).meta({ id: 'MemberSpec' });

export const ParameterSpecPayload = defineObject(() => ({
  ...MemberSpec.shape,
  fields: z
    .array(MemberSpec)
    .nullable()
    .meta({ description: 'Members of an object, or of each entry of a list of objects; null for other values.' }),
})).meta({ id: 'ParameterSpec' });

export const TypeSpecPayload = defineObject(() => ({
  type: z.string(),
  label: z.string(),
  category: z.enum(['selection', 'weighting', 'constraint', 'objective', 'expected_returns']),
  help: z.string().nullable(),
  parameters: z.array(ParameterSpecPayload),
  unit: z.enum(['fraction', 'count', 'value']).nullable(),
  kind: z.enum(['eq', 'ineq']).nullable(),
  convex: z.boolean().nullable(),
  example: z.record(z.string(), z.unknown()).nullable(),
})).meta({ id: 'TypeSpec' });

/**
 * Query of a listing. If `limit` is absent, the whole listing is returned. The request pipeline converts the query text
 * to the declared types.
 */
export const listingQuery = defineObject(() => ({
  limit: z.int().min(1).max(1000).optional().meta({ description: 'Maximum number of entries.' }),
  after: z.string().max(64).optional().meta({ description: 'Only entries with an id after this id.' }),
}));

/** Query for the deletion of a document with versions. */
export const purgeQuery = defineObject(() => ({
  purge: z.boolean().default(false).meta({
    description: 'True also removes all versions, even of a deleted document. Requires the scope admin.',
  }),
}));
