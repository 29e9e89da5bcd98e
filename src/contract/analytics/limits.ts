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
      'Constraint rows on holdings, as for the optimiser: bounds of securities and groups, concentration, counts, exposures and averages.',
  }),
})).meta({ id: 'LimitsRequest' });
export type LimitsRequest = z.infer<typeof LimitsRequest>;

const LimitMeasure = defineObject(() => ({
  date: z.string(),
  value: z.number().meta({ description: 'Measured value of the row.' }),
  limit: z.number().meta({ description: 'Bound of the row on that date.' }),
})).meta({ id: 'LimitMeasure', description: 'The date of least headroom.' });

export const LimitsView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  rule: z.enum(LIMIT_RULE_NAMES).nullable().meta({ description: 'Null for rows of the request.' }),
  by: z.string().meta({
    description:
      'Reference column whose values are the issuers, as known on each date; IDENTIFIER: each security is its own issuer.',
  }),
  sessions: z.int().meta({ description: 'Dates of the run in the window.' }),
  breached_sessions: z.int().meta({ description: 'Dates on which a row is beyond its bound.' }),
  state: z
    .strictObject({
      dates: z.array(z.string()),
      headroom: z.array(z.number().nullable()).meta({
        description:
          'Distance to the nearest bound in the unit of the row, a fraction for weights; negative beyond the bound, null if no row applies.',
      }),
      nearest: z.array(z.string().nullable()).meta({
        description:
          'The security whose price is nearest to causing a breach; null beyond a bound, or if no move of one security causes a breach.',
      }),
      move: z.array(z.number().nullable()).meta({
        description: 'The smallest relative change of that price that causes a breach, other prices unchanged.',
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
        })
        .meta({ id: 'LimitRowSummary' }),
    )
    .meta({ description: 'Each row over the window; the first 500.' }),
  rows_total: z.int(),
  breaches: z
    .array(
      z
        .strictObject({
          row: z.string(),
          begin: z.string().meta({ description: 'First session beyond the bound; it may precede the window.' }),
          end: z.string().nullable().meta({
            description: 'Last session beyond the bound; null if the breach lasts until the end of the window.',
          }),
          cause: z.enum(['price', 'action', 'rebalance']).meta({
            description:
              'Cause of the breach: the drift of prices, a corporate action or delisting, or the trades of a rebalance.',
          }),
          worst: LimitMeasure,
        })
        .meta({ id: 'LimitBreach' }),
    )
    .meta({ description: 'By first session; the first 10,000.' }),
  breaches_total: z.int(),
  distance: z
    .strictObject({
      identifier: z.string(),
      move: z.number().meta({ description: 'Relative change of its price, other prices unchanged: 0.1 is +10 %.' }),
    })
    .nullable()
    .meta({
      id: 'LimitDistance',
      description:
        'The smallest price move of one security that causes a breach on the last date; null beyond a bound, or if no move causes a breach.',
    }),
  findings: z.array(Finding),
})).meta({ id: 'LimitsView' });
export type LimitsView = WithoutRunState<z.infer<typeof LimitsView>>;
