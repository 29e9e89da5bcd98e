import { fillPlugins, type FilledDocument, type StoredPluginCode } from '#domain/checks/fill-plugins.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { PluginDocument } from '#domain/documents/plugin-document.js';
import type { DocumentReader } from '#store/port.js';

type Reader = Pick<DocumentReader, 'get'>;

/** Returns a definition with the code of its plug-ins, and the errors about the plug-ins. */
export async function fillStoredPlugins(reader: Reader, document: IndexDocument): Promise<FilledDocument> {
  const ids = new Set(Object.values(document.plugins ?? {}).map(({ plugin }) => plugin));
  const pluginCode = new Map<string, StoredPluginCode | undefined>();
  for (const id of ids) pluginCode.set(id, await findPluginCode(reader, id));
  return fillPlugins(document, (id) => pluginCode.get(id));
}

async function findPluginCode(reader: Reader, id: string): Promise<StoredPluginCode | undefined> {
  const storedDocument = await reader.get('plugin', id);
  if (storedDocument === undefined || 'unreadable' in storedDocument) return undefined;
  const { data } = PluginDocument.safeParse(storedDocument.body);
  return data && { plugin: data, sha256: storedDocument.etag };
}
