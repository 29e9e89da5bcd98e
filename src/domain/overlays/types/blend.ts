import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { RETURN_VARIANTS } from '../../market/market-data.js';
import { RebalanceSpec } from '../../schedule/rebalance-spec.js';
import { Id } from '../../schema/shape.js';
import { costBps, describeCosts } from '../fields.js';
import { defineOverlayType } from '../overlay-type.js';
import { reportWithoutEffect, reportIdleMembers, type Remark } from '../remarks.js';
import { subtractCosts } from '../steps.js';
import { formatShare } from '../../catalogue/sentence-numbers.js';

const schema = defineObject(() => ({
  type: z.literal('blend'),
  parts: z
    .array(
      z.strictObject({
        index_id: Id.meta({ description: 'Index of the part.' }),
        weight: z.number().gt(0).max(1).meta({ description: 'Weight at each rebalance of the blend.' }),
      }),
    )
    .min(1)
    .max(20)
    .meta({ description: 'Indices and their weights, with a sum of 1.' }),
  rebalance: RebalanceSpec.prefault({}).meta({ description: 'Dates on which the weights are restored.' }),
  variant: z
    .enum(RETURN_VARIANTS)
    .optional()
    .meta({ description: 'Return variant of every part. Default: the variant of the first part.' }),
  cost_bps: costBps,
}));

export const blend = defineOverlayType({
  type: 'blend',
  label: 'Blend',
  help: 'Several indices with fixed weights, which are restored on a separate schedule.',
  formula:
    'v[k,t] = v[k,t-1] g[k,t]; L[t] = L[t-1] * sum_k v[k,t] / sum_k v[k,t-1]; at a rebalance v[k] = weight[k] * sum v, less cost * sum_k |change of v[k]|',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: weighted return indices',
  schema,
  example: {
    type: 'blend',
    parts: [
      { index_id: 'CORE-40', weight: 0.6 },
      { index_id: 'VALUE-20', weight: 0.4 },
    ],
    rebalance: { frequency: 'monthly' },
  },
  sentences: ({ parts, variant, cost_bps }) => [
    `It blends ${parts.map(({ index_id, weight }) => `${index_id} at ${formatShare(weight)}`).join(', ')}; between rebalances of the blend the parts drift.`,
    variant === undefined
      ? `Every part uses the return variant of ${parts[0]!.index_id}.`
      : `Every part uses its ${variant} return.`,
    ...describeCosts(cost_bps),
  ],
  remarks(spec) {
    const { parts, rebalance } = spec;
    if (parts.length === 1) {
      const why = 'there is only one part';
      return reportIdleMembers(schema, spec, { members: ['rebalance', 'cost_bps'], why });
    }
    return [
      ...(rebalance.frequency === 'none'
        ? reportIdleMembers(schema, spec, { members: ['cost_bps'], why: 'rebalance.frequency is none' })
        : []),
      ...reportDecisionDates(rebalance),
    ];
  },
  path({ parts, rebalance, cost_bps }, context) {
    const { sources, days } = context;
    const resets = context.resets(rebalance);
    const growth = new Float64Array(days.length).fill(1);
    const total = parts.reduce((sum, { weight }) => sum + weight, 0);
    const exposures = parts.map(({ weight }) => new Float64Array(days.length).fill(weight / total));
    for (let t = 1; t < days.length; t++) {
      let after = 0;
      for (let k = 0; k < parts.length; k++) after += exposures[k]![t - 1]! * sources[k]!.growth[t]!;
      growth[t] = after;
      if (resets[t] === 1) continue;
      for (let k = 0; k < parts.length; k++)
        exposures[k]![t] = (exposures[k]![t - 1]! * sources[k]!.growth[t]!) / after;
    }
    return subtractCosts({ growth, exposures, exchange: null, parts: [], resets }, context, cost_bps);
  },
});

/** Reports settings of decision dates. They have no effect, because the weights of a blend are known in advance. */
const reportDecisionDates = ({ effective_lag: lag, ...rebalance }: RebalanceSpec): Remark[] => [
  ...(lag === 0 ? [] : [reportWithoutEffect('rebalance.effective_lag', lag, FIXED_REASON)]),
  ...DATED_MEMBERS.flatMap((member) =>
    rebalance[member] === undefined
      ? []
      : [reportWithoutEffect(`rebalance.${member}`, rebalance[member], FIXED_REASON)],
  ),
];

const FIXED_REASON = 'the weights of a blend are fixed';
const DATED_MEMBERS = ['reference', 'announcement', 'pricing_date', 'phase'] as const;
