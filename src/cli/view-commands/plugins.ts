import { readFile } from 'node:fs/promises';
import type { PluginUpsert } from '#clients/typescript/divisor.js';
import { readJsonFile } from '../command-line.js';
import { UsageError } from '../usage-error.js';
import { NOTE } from './documents.js';
import { createViewCommand } from './view-command.js';

export const plugins = createViewCommand({
  summary: 'List the plug-ins.',
  words: [],
  flags: {},
  examples: ['divisor plugin list'],
  ask: (client) => client.call('listPlugins', {}),
  records: (result) =>
    result.plugins.map(({ plugin_id, name, kind, inputs, sha256, updated_at }) => ({
      plugin_id,
      name,
      kind,
      inputs: Object.keys(inputs).join(' '),
      sha256,
      updated_at,
    })),
  columns: ['plugin_id', 'name', 'kind', 'inputs', 'updated_at'],
});

export const putPlugin = createViewCommand({
  summary: 'Store a plug-in: a datapoint, a selection rule or a weighting in JavaScript.',
  words: [
    { name: 'ID', help: 'Id of the plug-in.' },
    { name: 'FILE', help: 'JSON with name, kind, inputs, parameters and source; - reads standard input.' },
  ],
  flags: {
    source: {
      type: 'string',
      value: 'FILE',
      help: 'JavaScript file with the source. Default: the source in the JSON.',
    },
    ...NOTE,
  },
  examples: ['divisor plugin put near-high near-high.json --source near-high.js'],
  async ask(client, [plugin_id = '', file = ''], flags) {
    const terms = await readJsonFile<PluginUpsert>(file);
    const source = flags.text('source');
    const body = source === undefined ? terms : { ...terms, source: await readText(source) };
    return client.call('putPlugin', { params: { plugin_id }, body, note: flags.text('note') });
  },
  records: ({ plugin_id, kind, sha256 }) => [{ plugin_id, kind, sha256 }],
});

const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch(() => Promise.reject(new UsageError(`there is no file ${path}`)));
