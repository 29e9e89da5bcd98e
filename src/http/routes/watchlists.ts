import type { watchlistRoutes } from '#contract/watchlists.js';
import type { StoredWatchlist, Watchlists } from '#services/datasets/watchlists.js';
import type { Handlers, Reply } from '../handler.js';
import type { Removals } from '../removals.js';

export function createWatchlistHandlers(watchlists: Watchlists, removals: Removals): Handlers<typeof watchlistRoutes> {
  return {
    listWatchlists: async ({ query }) => ({ json: await watchlists.list(query) }),
    getWatchlist: async ({ params }) => reply(await watchlists.get(params.watchlist_id)),
    putWatchlist: async ({ params, body, precondition, authorship }) =>
      reply(await watchlists.put(params.watchlist_id, body(), precondition(), authorship())),
    async deleteWatchlist(request) {
      const id = request.params.watchlist_id;
      const removal = await removals.of(request, { kind: 'watchlist', id });
      if (!('purgedRuns' in removal)) await watchlists.remove(id, request.precondition(), removal);
      return {};
    },
  };
}

const reply = ({ watchlist, etag }: StoredWatchlist): Reply => ({ json: watchlist, documentEtag: etag });
