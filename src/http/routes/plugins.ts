import type { pluginRoutes } from '#contract/plugins.js';
import type { PluginPreviews } from '#services/indices/plugin-previews.js';
import type { Plugins, StoredPlugin } from '#services/indices/plugins.js';
import type { Handlers, Reply } from '../handler.js';
import type { Removals } from '../removals.js';

export function createPluginHandlers(
  plugins: Plugins,
  previews: PluginPreviews,
  removals: Removals,
): Handlers<typeof pluginRoutes> {
  return {
    listPlugins: async ({ query }) => ({ json: await plugins.list(query) }),
    getPlugin: async ({ params }) => reply(await plugins.get(params.plugin_id)),
    putPlugin: async ({ params, body, precondition, authorship }) =>
      reply(await plugins.put(params.plugin_id, body(), precondition(), authorship())),
    previewPlugin: async ({ body, signal }) => ({ json: await previews.preview(body(), signal) }),
    async deletePlugin(request) {
      const id = request.params.plugin_id;
      const removal = await removals.of(request, { kind: 'plugin', id });
      if (!('purgedRuns' in removal)) await plugins.remove(id, request.precondition(), removal);
      return {};
    },
  };
}

const reply = ({ plugin, etag }: StoredPlugin): Reply => ({ json: plugin, documentEtag: etag });
