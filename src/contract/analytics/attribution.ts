import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { OVERLAY_PART_HELP, OVERLAY_PART_NAMES } from '#domain/overlays/overlay-type.js';
import { MEASURED_VARIANTS, RETURN_VARIANTS } from '#domain/market/market-data.js';
import { ATTRIBUTION_MODELS } from '#domain/risk/factors/factor-attribution.js';
import { Finding } from '../common.js';
import { runState, type WithoutRunState } from '../run-state.js';

export const ContributionPayload = defineObject(() => ({
  asset_id: z.string(),
  average_weight: z.number(),
  contribution: z.number(),
  total_return: z.number(),
})).meta({ id: 'ContributionPayload' });

export const AttributionView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  contributions: z.array(ContributionPayload).meta({
    description:
      'Securities and the parts of an overlay, sorted by contribution (largest first) and identifier. They sum to total_return. The asset_id of a part is overlay/{index_id}/{part}; its weight and return are 0.',
  }),
  contributions_sum: z.number().meta({
    description:
      'Sum of the contributions of securities: total_return, or for an overlay total_return less overlay_parts_sum.',
  }),
  overlay_parts_sum: z.number().nullable().meta({
    description:
      'Sum of overlay_parts. The sum of contributions_sum and overlay_parts_sum is total_return. Null if there are no parts.',
  }),
  overlay_parts: z
    .array(
      z
        .strictObject({
          index_id: z.string().meta({ description: 'Overlay of the part: this overlay, or an underlying overlay.' }),
          part: z.enum(OVERLAY_PART_NAMES).meta({ description: `Kind of the part: ${OVERLAY_PART_HELP}.` }),
          contribution: z.number(),
        })
        .meta({ id: 'OverlayPart' }),
    )
    .nullable()
    .meta({
      description:
        'Returns of an overlay that do not come from its constituents, which are also in contributions. Null for other indices.',
    }),
  total_return: z.number(),
  periods: z.int(),
  reconciles: z.boolean(),
  residual: z.number(),
  cap_drag: z.number().nullable(),
  cost_drag: z.number().nullable(),
  requested_start: z.string().nullable(),
  requested_end: z.string().nullable(),
  start: z.string(),
  end: z.string(),
})).meta({ id: 'AttributionView' });
export type AttributionView = WithoutRunState<z.infer<typeof AttributionView>>;

export const FactorAttributionView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  model: z.enum(ATTRIBUTION_MODELS),
  factors: z
    .array(
      z
        .strictObject({
          factor: z.string().meta({ description: 'MARKET, a sector or a style.' }),
          average_exposure: z.number().meta({ description: 'Mean exposure of the held weights.' }),
          contribution: z
            .number()
            .meta({ description: 'Exposure times return of the factor, linked over the sessions.' }),
        })
        .meta({ id: 'FactorContribution' }),
    )
    .meta({ description: 'Factors, in the order of the model.' }),
  specific: z.number().meta({ description: 'Linked returns of the securities that the factors do not explain.' }),
  other: z.number().meta({ description: 'Linked effect of costs, cash, and securities without a regression.' }),
  total_return: z.number().meta({ description: 'Sum of the contributions, specific and other.' }),
  covered_weight: z.number().meta({ description: 'Mean fraction of the gross weight that the regressions include.' }),
  periods: z.int(),
  reconciles: z.boolean(),
  residual: z.number(),
  requested_start: z.string().nullable(),
  requested_end: z.string().nullable(),
  start: z.string(),
  end: z.string(),
  findings: z.array(Finding).meta({
    description:
      'Months in which the store has too few securities for a regression. The return of these months is in `other`.',
  }),
})).meta({ id: 'FactorAttributionView' });
export type FactorAttributionView = WithoutRunState<z.infer<typeof FactorAttributionView>>;

const defineEffect = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `${description} Null without a benchmark.` });

export const GroupAttributionRow = defineObject(() => ({
  group: z.string(),
  average_weight: z.number(),
  benchmark_average_weight: defineEffect('Mean weight of the group in the benchmark.'),
  total_return: z.number().nullable().meta({
    description:
      'Return of the group in the run, compounded over the periods in which the group has a weight. In a period it is the contribution of the group, after costs, divided by its weight at the start; the effects use the same returns. Null if the group has no weight in any period, or a return below -1 in one, which opposite positions or costs of a small weight can cause.',
  }),
  benchmark_return: z.number().nullable().meta({
    description: 'Return of the group in the benchmark, defined in the same way. Null also without a benchmark.',
  }),
  contribution: z
    .number()
    .meta({ description: 'Contribution of the group to the total return; the groups sum to it.' }),
  allocation: defineEffect('Effect of a group weight that differs from the benchmark.'),
  selection: defineEffect('Effect of a group return that differs from the benchmark.'),
  interaction: defineEffect('Joint effect of both.'),
})).meta({ id: 'GroupAttributionRow' });
export const GroupAttributionView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  by: z.string().meta({
    description:
      'Reference column, as known at the end of the window. The group UNCLASSIFIED contains the securities without a value. The group CASH contains the uninvested part and the separate return of an overlay.',
  }),
  benchmark: z.string().nullable(),
  return_variant: z.enum(RETURN_VARIANTS).meta({ description: 'Return of the run.' }),
  benchmark_variant: z.enum(MEASURED_VARIANTS).nullable().meta({
    description: 'Return variant of the benchmark; `raw` for unadjusted levels; null if there is no benchmark.',
  }),
  groups: z.array(GroupAttributionRow),
  effects: z
    .strictObject({
      allocation: z.number().meta({ description: 'Effect of different group weights.' }),
      selection: z.number().meta({ description: 'Effect of different securities within the groups.' }),
      interaction: z.number().meta({ description: 'Joint effect of both.' }),
    })
    .nullable()
    .meta({
      description:
        'Sum of each effect over all groups. The effects add up to the active return. Null without a benchmark.',
    }),
  total_return: z.number(),
  benchmark_return: z.number().nullable(),
  active_return: z
    .number()
    .nullable()
    .meta({ description: 'total_return less benchmark_return; the effects of all groups sum to it.' }),
  periods: z.int(),
  residual: z.number(),
  reconciles: z.boolean(),
  requested_start: z.string(),
  requested_end: z.string(),
  start: z.string(),
  end: z.string(),
  findings: z.array(Finding).meta({
    description: '`RETURNS_DIFFER`: only one of run and benchmark includes dividends.',
  }),
})).meta({ id: 'GroupAttributionView' });
export type GroupAttributionView = WithoutRunState<z.infer<typeof GroupAttributionView>>;
