import { z } from 'zod';
import { LIMIT_RULE_NAMES } from '#domain/compliance/rules.js';
import { ConstraintRow } from '#domain/constraints/constraint-row.js';
import { Finding } from '../common.js';
import { runState, type Stateless } from '../run-state.js';

/** Most rows of a request. */
const ROWS_MAX = 100;

export const LimitsRequest = z
  .strictObject({
    rows: z.array(ConstraintRow).min(1).max(ROWS_MAX).meta({
      description:
        'Rows of the optimiser about holdings: bounds of names and groups, concentration, counts, exposures and averages.',
    }),
  })
  .meta({ id: 'LimitsRequest' });
export type LimitsRequest = z.infer<typeof LimitsRequest>;

const LimitMeasure = z
  .strictObject({
    date: z.string(),
    value: z.number().meta({ description: 'What the row measures.' }),
    limit: z.number().meta({ description: 'Its bound on that date.' }),
  })
  .meta({ id: 'LimitMeasure', description: 'The date of least headroom.' });

export const LimitsView = z
  .strictObject({
    ...runState,
    index_id: z.string(),
    rule: z.enum(LIMIT_RULE_NAMES).nullable().meta({ description: 'Null for rows of the request.' }),
    by: z.string().meta({
      description: 'Reference column whose values are the issuers, as known on each date; IDENTIFIER: names are.',
    }),
    sessions: z.int().meta({ description: 'Dates of the run in the window.' }),
    breached_sessions: z.int().meta({ description: 'Those on which a row is beyond its bound.' }),
    state: z
      .strictObject({
        dates: z.array(z.string()),
        headroom: z.array(z.number().nullable()).meta({
          description:
            'Distance to the nearest bound in its own unit, negative beyond it; null where no row applies. Of weights it is a fraction.',
        }),
        nearest: z.array(z.string().nullable()).meta({
          description:
            'The name whose price comes nearest to a breach; null beyond a bound, or where no move of one name passes one.',
        }),
        move: z.array(z.number().nullable()).meta({
          description: 'The least relative change of that price behind which a bound is passed, the others unchanged.',
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
            begin: z.string().meta({ description: 'First session beyond the bound; it may lie before the window.' }),
            end: z
              .string()
              .nullable()
              .meta({ description: 'Last session beyond it; null while it lasts at the end of the window.' }),
            cause: z.enum(['price', 'action', 'rebalance']).meta({
              description:
                'What passed the bound: the drift of prices, a corporate action or delisting, or the trades of a rebalance.',
            }),
            worst: LimitMeasure,
          })
          .meta({ id: 'LimitBreach' }),
      )
      .meta({ description: 'By begin; the first 10,000.' }),
    breaches_total: z.int(),
    distance: z
      .strictObject({
        identifier: z.string(),
        move: z.number().meta({ description: 'Relative change of its price, the others unchanged: 0.1 is +10 %.' }),
      })
      .nullable()
      .meta({
        id: 'LimitDistance',
        description:
          'The least move of one name that passes a bound on the last date; null beyond one, or where no move passes one.',
      }),
    findings: z.array(Finding),
  })
  .meta({ id: 'LimitsView' });
export type LimitsView = Stateless<z.infer<typeof LimitsView>>;
