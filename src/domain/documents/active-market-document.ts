import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { Adjustment } from './dataset-document.js';

/** Market that all processes of a cluster serve, with the artifact of its columns. */
export const ActiveMarketDocument = defineObject(() => ({
  market: z.strictObject({
    datasetId: z.string(),
    contentHash: z.string(),
    adjustment: Adjustment,
    currency: z.string().nullable(),
  }),
  loaded_at: z.string(),
  snapshot: z.strictObject({ name: z.string(), bytes: z.int(), sha256: z.string() }),
}));
export type ActiveMarketDocument = z.infer<typeof ActiveMarketDocument>;
