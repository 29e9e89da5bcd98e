import { z } from 'zod';
import { AssetIdentifier, CurrencyCode, defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { ACTION_TYPES, RETURN_VARIANTS } from '#domain/market/market-data.js';
import { DIFFERENCE_TABLE_NAMES, EXPORT_FORMATS, FORMAT_NAMES } from '#domain/outputs/exports.js';
import { SHAPES } from '#domain/studies/difference-result.js';
import { hasDecimals, readFloat32, LEVELS_MAX } from '#domain/studies/outside-levels.js';
import { MANNERS, SUBJECTS } from '#domain/studies/difference-terms.js';
import { createJobStatus } from './jobs.js';
import { defineRoutes } from './route.js';
import { runParameter } from './run.js';

const OutsideLevel = defineObject(() => ({
  date: IsoDate,
  value: z.number().gt(0).meta({ description: 'Level on the date.' }),
})).meta({ id: 'OutsideLevel' });

const OutsideComposition = defineObject(() => ({
  date: IsoDate,
  weights: z
    .record(AssetIdentifier, z.number().gt(0))
    .optional()
    .meta({ description: 'Weights after the close by identifier. Either these or `index_shares`.' }),
  index_shares: z
    .record(AssetIdentifier, z.number().gt(0))
    .optional()
    .meta({ description: 'Numbers of index shares after the close by identifier.' }),
})).meta({ id: 'OutsideComposition' });

/** Largest difference of the sum of weights from 1. */
const WEIGHTS_ERROR = 0.01;

export const DifferencesRequest = defineObject(() => ({
  name: z.string().min(1).max(200).optional().meta({
    description: 'Name of the outside level, such as that of its file. The result states it.',
  }),
  levels: z
    .array(OutsideLevel)
    .min(2)
    .max(LEVELS_MAX)
    .optional()
    .meta({ description: 'Levels from outside, one per date. Either these or `series`.' }),
  series: AssetIdentifier.optional().meta({
    description: 'Identifier of a series or security of the store that has the levels from outside.',
  }),
  variant: z.enum(RETURN_VARIANTS).nullable().default(null).meta({
    description: 'Return variant of the outside level. Default: the variant with which the most sessions agree.',
  }),
  currency: CurrencyCode.nullable().default(null).meta({
    description: 'Currency of the outside level. Default: found from the levels, beginning with that of the index.',
  }),
  decimals: z.int().min(0).max(15).nullable().default(null).meta({
    description: 'Decimals to which the outside level is rounded. Default: found from the values.',
  }),
  start: IsoDate.nullable().default(null).meta({ description: 'First date that is compared.' }),
  end: IsoDate.nullable().default(null).meta({ description: 'Last date that is compared.' }),
  causes_max: z.int().min(1).max(12).default(12).meta({ description: 'Maximum number of causes.' }),
  known: z
    .array(z.enum(SUBJECTS))
    .default([])
    .meta({ description: 'Subjects that are known to agree. No cause concerns them.' }),
  compositions: z.array(OutsideComposition).max(1000).optional().meta({
    description: 'Constituents of the outside level on some dates. With them the difference is divided into parts.',
  }),
}))
  .superRefine(({ levels, series, decimals, start, end, compositions = [] }, context) => {
    const report = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message, params: { finding: 'OUT_OF_RANGE', isWhole: true } });
    if ((levels === undefined) === (series === undefined)) report('levels', 'or `series` is required, and not both');
    const dates = new Set<string>();
    for (const [k, { date }] of (levels ?? []).entries()) {
      if (dates.has(date)) report(`levels[${k}].date`, `is ${date}, as an earlier level`);
      dates.add(date);
    }
    compositions.forEach(({ weights, index_shares: shares }, k) => {
      if ((weights === undefined) === (shares === undefined))
        report(`compositions[${k}]`, 'requires `weights` or `index_shares`, and not both');
      else if (Object.keys(weights ?? shares!).length === 0) report(`compositions[${k}]`, 'has no constituents');
      const sum = Object.values(weights ?? {}).reduce((total, weight) => total + weight, 0);
      if (sum > 0 && Math.abs(sum - 1) > WEIGHTS_ERROR)
        report(`compositions[${k}].weights`, `sum to ${Number(sum.toPrecision(6))}; they must sum to 1 within 1 %`);
    });
    const read = readFloat32(Float64Array.from(levels ?? [], ({ value }) => value));
    const finer = decimals === null ? -1 : read.findIndex((value) => !hasDecimals(value, decimals));
    if (finer >= 0) report('decimals', `is ${decimals}, but levels[${finer}].value is ${levels![finer]!.value}`);
    const composed = compositions.map(({ date }) => date);
    const repeated = composed.find((date, k) => composed.indexOf(date) < k);
    if (repeated !== undefined) report('compositions', `has two compositions of ${repeated}`);
    if (start !== null && end !== null && start >= end) report('end', `must be after start: ${end} and ${start}`);
    const count = [...dates].filter((date) => (start ?? date) <= date && date <= (end ?? date)).length;
    if (levels !== undefined && count < 2)
      report('levels', `has ${count} values from start to end; at least 2 are needed`);
  })
  .meta({ id: 'DifferencesRequest' });
export type DifferencesRequest = z.infer<typeof DifferencesRequest>;

const subject = z.enum(SUBJECTS).meta({ description: 'Event, price, rule or convention that differs.' });
const manner = z.enum(MANNERS).meta({ description: 'What the outside level did, compared with the run.' });
const causeFields = {
  subject,
  manner,
  identifier: z
    .string()
    .nullable()
    .meta({ description: 'Security, exchange rate or country; null for the whole index.' }),
  date: z.string().nullable().meta({
    description: "Ex-date, session or effective date of the run's own event; null for a convention from the start.",
  }),
  value: z.number().nullable().meta({ description: 'Price, amount, rate or ratio of the outside level.' }),
  sentence: z.string().meta({ description: 'Action of the outside level, in words.' }),
};

const BPS = z.number().meta({ description: 'Outside level over own level, less 1, in basis points.' });

const PatchOperation = defineObject(() => ({
  op: z.enum(['add', 'remove', 'replace']).meta({ description: 'Operation, as in JSON Patch (RFC 6902).' }),
  path: z.string(),
  value: z.unknown().optional(),
})).meta({ id: 'PatchOperation' });

const DataChange = defineObject(() => ({
  table: z.enum(['market', 'corporate_actions']).meta({ description: 'Table of the store with the row.' }),
  identifier: z.string(),
  date: z.string(),
  field: z.string(),
  value: z.unknown().meta({ description: 'New value; null removes the bar or the action.' }),
  type: z
    .enum(ACTION_TYPES)
    .optional()
    .meta({ description: 'Type of the action; a security can have several on one ex-date.' }),
  added: z.literal(true).optional().meta({ description: 'The value is a whole row that is added.' }),
})).meta({ id: 'DataChange' });

const DifferenceCause = defineObject(() => ({
  ...causeFields,
  through: z.string().nullable().meta({ description: 'Last session of a state that lasts.' }),
  change: z
    .strictObject({
      document: z.array(PatchOperation).meta({
        description:
          'JSON patch (RFC 6902) of the document of the index. Paths of the index beneath an overlay begin with its id.',
      }),
      data: z.array(DataChange),
      rounding: z.record(z.string(), z.unknown()).nullable().meta({
        description: 'Terms by which the outside level follows from the levels of the run; null if there are none.',
      }),
    })
    .meta({
      description: 'Change with which a run reproduces the outside level. Changes apply in the order of causes.',
    }),
  sessions: z.int().meta({ description: 'Number of sessions that agree only with this cause.' }),
  effect_bps: z.number().meta({ description: 'Effect of the cause alone on the last common level, in basis points.' }),
  ties: z
    .array(z.strictObject(causeFields))
    .meta({ description: 'Other causes that explain the same sessions equally well.' }),
})).meta({ id: 'DifferenceCause' });

const DifferenceStep = defineObject(() => ({
  causes: z.array(z.int()).meta({ description: 'Positions in `causes`.' }),
  sentence: z.string().meta({ description: 'Action of the outside level, in words.' }),
  sessions: z.int().meta({ description: 'Number of sessions that agree only with these causes.' }),
  effect_bps: z.number().meta({ description: 'Joint effect on the last common level, in basis points.' }),
})).meta({ id: 'DifferenceStep' });

const UnexplainedSession = defineObject(() => ({
  date: z.string(),
  difference_bps: BPS,
  single: z.literal(true).optional().meta({
    description:
      'Present if the levels before and after the session, or before and after two such sessions, agree: the outside level of this session, or a price of the run on it, is wrong.',
  }),
  sentence: z
    .string()
    .optional()
    .meta({ description: 'What the session shows, in words; absent in an explanation of release 0.11.0.' }),
})).meta({ id: 'UnexplainedSession' });

export const DifferencesView = defineObject(() => ({
  index_id: z.string(),
  run_id: z.string(),
  outside: z
    .strictObject({
      name: z.string().nullable().meta({ description: 'Name in the request, or the series of the store.' }),
      count: z.int().meta({ description: 'Number of levels in the window.' }),
      first: z.string().meta({ description: 'Date of the first level.' }),
      last: z.string().meta({ description: 'Date of the last level.' }),
    })
    .optional()
    .meta({ description: 'Levels from outside; absent in an explanation of release 0.11.0.' }),
  variant: z.enum(RETURN_VARIANTS).meta({ description: 'Return variant of the outside level.' }),
  scale: z.number().meta({ description: 'Outside level over own level on the first common session.' }),
  decimals: z.int().nullable().meta({ description: 'Decimals of the outside level; null if it is not rounded.' }),
  sessions: z
    .strictObject({
      common: z.int().meta({ description: 'Number of sessions of both levels.' }),
      equal: z.int().meta({ description: 'Sessions on which the levels agree within rounding.' }),
      explained: z.int().meta({ description: 'Sessions that agree with all causes.' }),
      unexplained: z.array(UnexplainedSession).meta({ description: 'Sessions that no cause explains.' }),
      unmatched: z.int().optional().meta({
        description:
          'Levels from outside in the window that are on no session of the run; absent in an explanation of release 0.11.0.',
      }),
    })
    .meta({ description: 'Numbers of sessions of the common window.' }),
  largest: z.strictObject({
    date: z.string(),
    own: z.number().meta({ description: 'Level of the run times the scale.' }),
    outside: z.number().meta({ description: 'Level from outside.' }),
    difference_bps: BPS,
  }),
  returns: z
    .strictObject({
      count: z.int().meta({ description: 'Number of returns between common sessions.' }),
      equal: z.int().meta({ description: 'Returns that agree within rounding.' }),
      correlation: z.number().nullable().meta({
        description: 'Correlation of the returns of both levels; null if those of one of them are all equal.',
      }),
      sentence: z.string().optional().meta({
        description: 'Present if the levels are most likely not those of the index, in words.',
      }),
    })
    .optional()
    .meta({ description: 'Returns of both levels, before any cause; absent in an explanation of release 0.11.0.' }),
  mean_absolute_bps: z.number().meta({ description: 'Mean absolute difference of the levels.' }),
  shapes: z.array(z.enum(SHAPES)).meta({ description: 'Course of the differences.' }),
  causes: z.array(DifferenceCause).meta({ description: 'Causes by date.' }),
  steps: z.array(DifferenceStep).meta({
    description:
      'The causes in order, with those that only together explain a session as one step, such as a replacement. The stored job of release 0.11.0 lacks them; GET /analytics/{index_id}/differences adds them.',
  }),
  complete: z.boolean().meta({ description: 'True if every session is explained.' }),
  fewest: z.int().nullable().meta({
    description: 'Fewest causes that explain all sessions, if every smaller set was excluded; otherwise null.',
  }),
  reproduced: z.boolean().meta({
    description: 'True if the run with all changes equals the outside level on every common session within rounding.',
  }),
  remaining: z
    .strictObject({
      dates: z.array(z.string()).meta({
        description: 'Common sessions; of many sessions, equally spaced ones and those at the largest changes.',
      }),
      bps: z.array(z.array(z.number())).meta({
        description: 'Difference by session without none of the causes, the first one, the first two, and so on.',
      }),
    })
    .meta({ description: 'Differences that remain if the causes are removed one after another, in basis points.' }),
  parts: z
    .strictObject({
      selection: z.number().meta({ description: 'Effect of other constituents.' }),
      weights: z.number().meta({ description: 'Effect of other weights of the constituents.' }),
      prices: z.number().meta({ description: 'Effects of causes with prices and exchange rates.' }),
      events: z.number().meta({ description: 'Effects of causes with events, dividends and their tax.' }),
      arithmetic: z.number().meta({ description: 'Other effects: fees, rounding, and what remains.' }),
    })
    .nullable()
    .meta({
      description:
        'Parts of the difference on the last common session, in basis points of the own level; their sum is the difference. Null without constituents from outside.',
    }),
})).meta({ id: 'DifferencesView' });
export type DifferencesView = z.infer<typeof DifferencesView>;

const DifferencesJobStatus = createJobStatus('DifferencesJobStatus', 'differences', DifferencesView);

export const differenceRoutes = defineRoutes('analytics', {
  explainDifference: {
    method: 'POST',
    path: '/analytics/{index_id}/differences',
    scope: 'run',
    summary: 'Explains why a level from outside differs from a stored run, as a job.',
    description:
      'Each session with a difference is explained by one change of an event, a price, a review or a convention, after which the run agrees with the outside level within rounding. Changes that explain the sessions equally well are ties. Sessions without an explanation are listed.',
    params: defineObject(() => ({ index_id: Id })),
    query: z.strictObject(runParameter),
    body: {
      schema: DifferencesRequest,
      example: {
        levels: [
          { date: '2024-06-27', value: 1032.41 },
          { date: '2024-06-28', value: 1029.87 },
        ],
      },
    },
    success: { status: 202, description: 'The job; see Location.', schema: DifferencesJobStatus },
    errors: [
      'INDEX_NOT_FOUND',
      'RUN_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'NO_DATA_SOURCE',
      'STORE_MISMATCH',
      'JOB_RUNNING',
    ],
  },
  getDifference: {
    method: 'GET',
    path: '/analytics/{index_id}/differences',
    scope: 'read',
    withoutMarket: true,
    summary: 'Returns the last explanation of a level from outside, or one of its tables as a file.',
    description:
      'In formats other than JSON, the response is the table of causes, of sessions without an explanation, or of the differences that remain after each cause.',
    params: defineObject(() => ({ index_id: Id })),
    query: defineObject(() => ({
      table: z
        .enum(DIFFERENCE_TABLE_NAMES)
        .default('causes')
        .meta({ description: 'Table of a response in a format other than JSON.' }),
    })),
    success: {
      status: 200,
      description: 'The explanation.',
      schema: DifferencesView,
      media: FORMAT_NAMES.slice(1).map((format) => EXPORT_FORMATS[format].media),
    },
    errors: ['INDEX_NOT_FOUND', 'JOB_NOT_FOUND'],
  },
});
