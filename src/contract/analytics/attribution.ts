import { z } from 'zod';
import { OVERLAY_PART_HELP, OVERLAY_PART_NAMES } from '#domain/overlays/overlay-type.js';
import { MEASURED_VARIANTS, RETURN_VARIANTS } from '#domain/market/market-data.js';
import { ATTRIBUTION_MODELS } from '#domain/risk/factors/factor-attribution.js';
import { Finding } from '../common.js';
import { runState, type Stateless } from '../run-state.js';

export const ContributionPayload = z
  .strictObject({
    asset_id: z.string(),
    average_weight: z.number(),
    contribution: z.number(),
    total_return: z.number(),
  })
  .meta({ id: 'ContributionPayload' });

export const AttributionView = z
  .strictObject({
    ...runState,
    index_id: z.string(),
    contributions: z
      .array(ContributionPayload)
      .meta({ description: 'By contribution, largest first, then identifier.' }),
    contributions_sum: z.number().meta({
      description: 'Sum of the contributions: total_return, but for an overlay, where overlay_parts_sum is the rest.',
    }),
    overlay_parts_sum: z.number().nullable().meta({
      description: 'Sum of overlay_parts: with contributions_sum it is total_return. Null where there are none.',
    }),
    overlay_parts: z
      .array(
        z
          .strictObject({
            index_id: z.string().meta({ description: 'The overlay that it is of, itself or one beneath it.' }),
            part: z.enum(OVERLAY_PART_NAMES).meta({ description: `Kind of the part: ${OVERLAY_PART_HELP}.` }),
            contribution: z.number(),
          })
          .meta({ id: 'OverlayPart' }),
      )
      .nullable()
      .meta({
        description:
          'Return of an overlay apart from its constituents; both sum to the total return. Null for other indices.',
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
  })
  .meta({ id: 'AttributionView' });
export type AttributionView = Stateless<z.infer<typeof AttributionView>>;

export const FactorAttributionView = z
  .strictObject({
    ...runState,
    index_id: z.string(),
    model: z.enum(ATTRIBUTION_MODELS),
    factors: z
      .array(
        z
          .strictObject({
            factor: z.string().meta({ description: 'MARKET, a sector or a style.' }),
            average_exposure: z.number().meta({ description: 'Mean exposure of the weights held.' }),
            contribution: z.number().meta({ description: 'Exposure times return of the factor, linked.' }),
          })
          .meta({ id: 'FactorContribution' }),
      )
      .meta({ description: 'In the order of the model.' }),
    specific: z.number().meta({ description: 'What the factors leave of the returns of the names, linked.' }),
    other: z.number().meta({ description: 'Costs, names without a regression, and what is no name, linked.' }),
    total_return: z.number().meta({ description: 'Sum of the contributions, specific and other.' }),
    covered_weight: z.number().meta({ description: 'Mean share of the gross weight that is in a regression.' }),
    periods: z.int(),
    reconciles: z.boolean(),
    residual: z.number(),
    requested_start: z.string().nullable(),
    requested_end: z.string().nullable(),
    start: z.string(),
    end: z.string(),
    findings: z.array(Finding).meta({
      description: 'Months in which the store has too few names for a regression: their return is in `other`.',
    }),
  })
  .meta({ id: 'FactorAttributionView' });
export type FactorAttributionView = Stateless<z.infer<typeof FactorAttributionView>>;

const effect = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `${description} Null without a benchmark.` });

export const GroupAttributionRow = z
  .strictObject({
    group: z.string(),
    average_weight: z.number(),
    benchmark_average_weight: effect('Mean weight of the group in the benchmark.'),
    contribution: z.number().meta({ description: 'What the group added to the total return; the groups sum to it.' }),
    allocation: effect('From holding another weight of the group than the benchmark.'),
    selection: effect("From the group's names doing otherwise than the benchmark's."),
    interaction: effect('From both together.'),
  })
  .meta({ id: 'GroupAttributionRow' });
export const GroupAttributionView = z
  .strictObject({
    ...runState,
    index_id: z.string(),
    by: z.string().meta({
      description:
        'Reference column, as known at the end of the window; UNCLASSIFIED without a value, CASH what is not invested and what an overlay earns by itself.',
    }),
    benchmark: z.string().nullable(),
    return_variant: z.enum(RETURN_VARIANTS).meta({ description: 'Return of the run.' }),
    benchmark_variant: z.enum(MEASURED_VARIANTS).nullable().meta({
      description: 'Return of the benchmark, raw for levels taken as they stand; null if there is none.',
    }),
    groups: z.array(GroupAttributionRow),
    effects: z
      .strictObject({
        allocation: z.number().meta({ description: 'From holding other weights of the groups.' }),
        selection: z.number().meta({ description: 'From other names within the groups.' }),
        interaction: z.number().meta({ description: 'From both together.' }),
      })
      .nullable()
      .meta({ description: 'Each effect of all groups; together the active return. Null without a benchmark.' }),
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
      description: '`RETURNS_DIFFER` when the benchmark leaves out dividends that the run has, or the other way round.',
    }),
  })
  .meta({ id: 'GroupAttributionView' });
export type GroupAttributionView = Stateless<z.infer<typeof GroupAttributionView>>;
