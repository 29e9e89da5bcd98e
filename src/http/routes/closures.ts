import type { closureRoutes } from '#contract/closures.js';
import { createFileName } from '#domain/calendars/calendars.js';
import type { Closures, StoredClosures } from '#services/governance/closures.js';
import type { Removals } from '../removals.js';
import type { Handlers, Reply } from '../handler.js';

export function createClosureHandlers(closures: Closures, removals: Removals): Handlers<typeof closureRoutes> {
  return {
    listClosures: async () => ({ json: { calendars: await closures.list() } }),
    getClosures: async ({ params }) => toClosuresReply(await closures.get(params.calendar_code)),
    async putClosures({ params, body, precondition, authorship }) {
      const { dry_run: isDry, ...document } = body();
      const code = params.calendar_code;
      const effect = await closures.computeEffect(code, document);
      const storedClosures = isDry
        ? await closures.get(code)
        : await closures.put(code, document, precondition(), authorship());
      const changes = isDry ? document.changes : storedClosures.closures.changes;
      return {
        ...toClosuresReply(storedClosures),
        json: { ...storedClosures.closures, changes, dry_run: isDry, effect },
      };
    },
    async deleteClosures(request) {
      const id = createFileName(request.params.calendar_code);
      const removal = await removals.of(request, { kind: 'closures', id });
      if (!('purgedRuns' in removal)) await closures.remove(id, request.precondition(), removal);
      return {};
    },
  };
}

export const toClosuresReply = ({ closures, etag }: StoredClosures): Reply => ({
  json: closures,
  ...(etag === null ? {} : { documentEtag: etag }),
});
