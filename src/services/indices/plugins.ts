import type { Plugin, PluginCollection, PluginUpsert } from '#contract/plugins.js';
import { readIndex } from '#domain/checks/validate-index.js';
import { checkPlugin, createSourceFinding, addPluginDefaults } from '#domain/checks/validate-plugin.js';
import { resolvePluginCode } from '#domain/documents/plugin-code.js';
import { PluginDocument, createProgram } from '#domain/documents/plugin-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { DocumentStore } from '#store/port.js';
import type { Precondition } from '../shared/preconditions.js';
import { openStoredFamily, type PageQuery } from '../shared/stored-family.js';

export interface PluginsDependencies {
  readonly documents: DocumentStore;
  readonly jobs: Pick<Jobs, 'query'>;
}

export interface StoredPlugin {
  readonly plugin: Plugin;
  readonly etag: string;
}

export interface Plugins {
  list(query: PageQuery): Promise<PluginCollection>;
  /** Returns a plug-in. @throws Refusal PLUGIN_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(id: string): Promise<StoredPlugin>;
  /** Creates or replaces a plug-in. @throws Refusal VALIDATION_FAILED, PRECONDITION_FAILED, OVERLOADED */
  put(id: string, body: PluginUpsert, ifMatch: Precondition | undefined, by?: Authorship): Promise<StoredPlugin>;
  /** Deletes a plug-in. @throws Refusal PLUGIN_NOT_FOUND, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

/** Creates the service of plug-ins: rules and datapoints that clients write as programs. */
export function createPlugins({ documents, jobs }: PluginsDependencies): Plugins {
  const family = openStoredFamily(documents, {
    kind: 'plugin',
    word: 'plug-in',
    read: (body) => PluginDocument.safeParse(body).data,
  });

  async function get(id: string): Promise<StoredPlugin> {
    const { document, etag, updatedAt } = await family.get(id);
    return { plugin: { plugin_id: id, ...document, sha256: etag, updated_at: updatedAt }, etag };
  }

  return {
    get,
    async list(query) {
      const { documents: indices } = await documents.list('index', readIndex);
      const listUsers = (id: string) =>
        indices.filter(({ plugins = {} }) => Object.values(plugins).some(({ plugin }) => plugin === id));
      const { items: plugins, ...skipped } = await family.page(query, async (id) => ({
        ...(await get(id)).plugin,
        used_by: listUsers(id).map((index) => index.id),
      }));
      return { plugins, ...skipped };
    },
    async put(id, body, ifMatch, authorship) {
      const document = addPluginDefaults(body);
      const findings = checkPlugin(document);
      if (findings.length > 0) throw refuseWithFindings('plug-in', findings);
      const { fault } = await jobs.query('check-plugin', {
        program: createProgram(resolvePluginCode(document, {}, '')),
      });
      if (fault !== null) throw refuseWithFindings('plug-in', [createSourceFinding(fault)]);
      await family.put(id, document, ifMatch, authorship);
      return get(id);
    },
    remove: family.remove,
  };
}
