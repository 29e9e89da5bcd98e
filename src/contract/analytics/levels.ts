import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { RETURN_VARIANTS } from '#domain/market/market-data.js';
import { SeriesPayload } from '../common.js';
import { runState, type WithoutRunState } from '../run-state.js';

export const LevelsView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  variant: z.enum(RETURN_VARIANTS),
  levels: SeriesPayload,
  divisor: SeriesPayload,
})).meta({ id: 'LevelsView' });
export type LevelsView = WithoutRunState<z.infer<typeof LevelsView>>;
