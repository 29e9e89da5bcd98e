import { z } from 'zod';
import { AssetIdentifier, defineObject, Id } from '#domain/base/schema.js';
import { listingQuery, purgeQuery, skippedFields } from './payloads.js';
import { defineRoutes } from './route.js';

/** Maximum number of securities in a watchlist. */
const IDENTIFIERS_MAX = 10_000;

export const WatchlistUpsert = defineObject(() => ({
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable().default(null),
  identifiers: z
    .array(AssetIdentifier)
    .max(IDENTIFIERS_MAX)
    .default([])
    .meta({ description: 'Identifiers in display order, without duplicates.' }),
})).meta({ id: 'WatchlistUpsert' });
export type WatchlistUpsert = z.infer<typeof WatchlistUpsert>;

export const Watchlist = defineObject(() => ({
  watchlist_id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  identifiers: z.array(z.string()).meta({ description: 'Identifiers in the order of the client, without duplicates.' }),
  updated_at: z.string(),
  unknown: z.array(z.string()).meta({
    description: 'Identifiers that the served store does not contain; all identifiers if no store is served.',
  }),
})).meta({ id: 'Watchlist' });
export type Watchlist = z.infer<typeof Watchlist>;

export const WatchlistCollection = defineObject(() => ({ watchlists: z.array(Watchlist), ...skippedFields })).meta({
  id: 'WatchlistCollection',
});
export type WatchlistCollection = z.infer<typeof WatchlistCollection>;

const params = defineObject(() => ({ watchlist_id: Id.meta({ description: 'Id of the watchlist.' }) }));

export const watchlistRoutes = defineRoutes('watchlists', {
  listWatchlists: {
    method: 'GET',
    path: '/data/watchlists',
    call: 'watchlists.list',
    onStore: 'query',
    scope: 'read',
    summary: 'Every watchlist.',
    query: listingQuery,
    success: { status: 200, description: 'Watchlists by id.', schema: WatchlistCollection },
  },
  getWatchlist: {
    method: 'GET',
    path: '/data/watchlists/{watchlist_id}',
    call: 'watchlists.get',
    onStore: 'query',
    scope: 'read',
    summary: 'One watchlist.',
    params,
    success: { status: 200, description: 'The watchlist.', schema: Watchlist },
    errors: ['WATCHLIST_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putWatchlist: {
    method: 'PUT',
    path: '/data/watchlists/{watchlist_id}',
    call: 'watchlists.put',
    scope: 'write',
    summary: 'Creates or replaces a watchlist.',
    versioned: true,
    params,
    body: { schema: WatchlistUpsert, example: { name: 'Favourites', identifiers: ['AAPL', 'MSFT'] } },
    success: { status: 200, description: 'The watchlist as stored.', schema: Watchlist },
    errors: ['PRECONDITION_FAILED'],
  },
  deleteWatchlist: {
    method: 'DELETE',
    path: '/data/watchlists/{watchlist_id}',
    call: 'watchlists.remove',
    scope: 'write',
    summary: 'Deletes a watchlist.',
    versioned: true,
    params,
    query: purgeQuery,
    success: { status: 204, description: 'Deleted.' },
    errors: ['WATCHLIST_NOT_FOUND', 'PRECONDITION_FAILED'],
  },
});
