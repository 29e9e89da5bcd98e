import { z } from 'zod';
import { AssetIdentifier } from '../schema/shape.js';

/** A watchlist as it is stored; its id is the key it is stored under. */
export const WatchlistDocument = z.strictObject({
  name: z.string(),
  description: z.string().nullable(),
  identifiers: z.array(AssetIdentifier),
});
export type WatchlistDocument = z.infer<typeof WatchlistDocument>;
