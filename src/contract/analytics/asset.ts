import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { SeriesPayload } from '../common.js';
import { runState, type WithoutRunState } from '../run-state.js';

export const AssetView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  identifier: z.string(),
  beta: z.number(),
  correlation: z.number(),
  excess_return: z.number(),
  index_return: z.number(),
  total_return: z.number(),
  tracking_error: z.number(),
  observations: z.int(),
  rebalances_held: z.int(),
  price: SeriesPayload,
  weight_history: z.record(z.string(), z.number()),
  raw_weight_history: z.record(z.string(), z.number()),
})).meta({ id: 'AssetView' });
export type AssetView = WithoutRunState<z.infer<typeof AssetView>>;
