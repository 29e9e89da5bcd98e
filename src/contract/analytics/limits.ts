import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { LIMIT_RULE_NAMES } from '#domain/compliance/rules.js';
import { ConstraintRow } from '#domain/constraints/constraint-row.js';
import { Finding } from '../common.js';
import { runState, type WithoutRunState } from '../run-state.js';

/** Maximum number of rows per request. */
const ROWS_MAX = 100;

export const LimitsRequest = defineObject(() => ({
  rows: z.array(ConstraintRow).min(1).max(ROWS_MAX).meta({
    description:
      'Constraints on holdings, as for the optimiser: bounds of securities and groups, concentration, counts, exposures and averages.',
  }),
})).meta({ id: 'LimitsRequest' });
export type LimitsRequest = z.infer<typeof LimitsRequest>;

const LimitMeasure = defineObject(() => ({
  date: z.string(),
  value: z.number().meta({ description: 'Measured value of the constraint.' }),
  limit: z.number().meta({ description: 'Bound of the constraint on that date.' }),
})).meta({ id: 'LimitMeasure', description: 'Value and bound of a constraint on a date.' });

const LimitIssuers = z.array(z.strictObject({ issuer: z.string(), weight: z.number() }).meta({ id: 'LimitIssuer' }));

export const LimitsView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  rule: z
    .enum(LIMIT_RULE_NAMES)
    .nullable()
    .meta({ description: 'Published rule; null for constraints of the request.' }),
  by: z.string().meta({
    description:
      'Reference column with the issuers, as known on each date. With IDENTIFIER, each security is a separate issuer.',
  }),
  sessions: z.int().meta({ description: 'Number of dates of the run in the window.' }),
  breached_sessions: z.int().meta({ description: 'Number of dates on which a constraint is beyond its bound.' }),
  state: z
    .strictObject({
      dates: z.array(z.string()),
      headroom: z.array(z.number().nullable()).meta({
        description:
          'Distance to the nearest bound in the unit of the constraint (a fraction for weights). Negative beyond the bound; null if no constraint applies.',
      }),
      nearest: z.array(z.string().nullable()).meta({
        description:
          'Security with the smallest price move that causes a breach. Null beyond a bound, or if no move of one security causes a breach.',
      }),
      move: z.array(z.number().nullable()).meta({
        description:
          'Smallest relative price move of this security that causes a breach, while all other prices are unchanged.',
      }),
    })
    .meta({ id: 'LimitState' }),
  rows: z
    .array(
      z
        .strictObject({
          row: z.string(),
          side: z.enum(['lower', 'upper']),
          unit: z.enum(['fraction', 'count', 'value']),
          breached_sessions: z.int(),
          least: LimitMeasure,
          latest: LimitMeasure,
          issuers: LimitIssuers.optional().meta({
            description:
              'Issuers whose weights form the latest value, largest first. Only for limits of the largest issuers and of issuers above a weight.',
          }),
        })
        .meta({ id: 'LimitRowSummary' }),
    )
    .meta({
      description: 'Constraints over the window; the first 500.',
    }),
  rows_total: z.int(),
  breaches: z
    .array(
      z
        .strictObject({
          row: z.string(),
          begin: z.string().meta({ description: 'First session beyond the bound. It can be before the window.' }),
          end: z.string().nullable().meta({
            description: 'Last session beyond the bound. Null if the breach continues at the end of the window.',
          }),
          cause: z.enum(['price', 'action', 'rebalance']).meta({
            description:
              'Cause of the breach: price changes, a corporate action or delisting, or the trades of a rebalance.',
          }),
          worst: LimitMeasure,
          issuers: LimitIssuers.optional().meta({
            description:
              'Issuers whose weights form the worst value, largest first. Only for limits of the largest issuers and of issuers above a weight.',
          }),
        })
        .meta({ id: 'LimitBreach' }),
    )
    .meta({ description: 'The first 10,000 breaches, sorted by their first session.' }),
  breaches_total: z.int(),
  distance: z
    .strictObject({
      identifier: z.string(),
      move: z
        .number()
        .meta({ description: 'Relative change of the price while all other prices are unchanged: 0.1 is +10%.' }),
    })
    .nullable()
    .meta({
      id: 'LimitDistance',
      description:
        'Smallest price move of one security that causes a breach on the last date. Null beyond a bound, or if no move causes a breach.',
    }),
  findings: z.array(Finding),
})).meta({ id: 'LimitsView' });
export type LimitsView = WithoutRunState<z.infer<typeof LimitsView>>;
