import type { watchlistRoutes } from '#contract/watchlists.js';
import type { StoredWatchlist, Watchlists } from '#services/datasets/watchlists.js';
import type { Handlers, Reply } from '../handler.js';

export function watchlistHandlers(watchlists: Watchlists): Handlers<typeof watchlistRoutes> {
  return {
    listWatchlists: async ({ query }) => ({ json: await watchlists.list(query) }),
    getWatchlist: async ({ params }) => reply(await watchlists.get(params.watchlist_id)),
    putWatchlist: async (request) =>
      reply(await watchlists.put(request.params.watchlist_id, request.body(), request.precondition())),
    async deleteWatchlist({ params, precondition }) {
      await watchlists.remove(params.watchlist_id, precondition());
      return {};
    },
  };
}

const reply = ({ watchlist, etag }: StoredWatchlist): Reply => ({ json: watchlist, etag });
