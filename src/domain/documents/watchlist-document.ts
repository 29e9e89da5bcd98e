import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { AssetIdentifier } from '../schema/shape.js';

/** Stored watchlist; its id is the key of the document. */
export const WatchlistDocument = defineObject(() => ({
  name: z.string(),
  description: z.string().nullable(),
  identifiers: z.array(AssetIdentifier),
}));
export type WatchlistDocument = z.infer<typeof WatchlistDocument>;
