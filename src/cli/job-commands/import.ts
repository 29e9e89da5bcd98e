import { readFile, stat } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import type { DataStore } from '#clients/typescript/divisor.js';
import type { JobCommand } from '../job-command.js';
import { UsageError } from '../usage-error.js';
import { members } from './fields.js';

export const importMarket: JobCommand<DataStore> = {
  summary: 'Register a folder, or import a workbook or a zip of CSV files, as a data store.',
  words: [{ name: 'PATH', help: 'A folder with market.parquet, .csv or .jsonl; or an .xlsx or .zip file.' }],
  notes:
    'A folder is read where it lies, by the service: with --url its path is one of the machine of the service, below its data roots.',
  flags: {
    id: { type: 'string', value: 'STORE', help: 'Id of the store; from its name otherwise.' },
    name: { type: 'string', value: 'NAME', help: 'Display name; the file name otherwise.' },
    adjustment: {
      type: 'string',
      value: 'none|splits|total',
      help: 'Price basis of CLOSE.',
      choices: ['none', 'splits', 'total'],
    },
    currency: { type: 'string', value: 'CODE', help: 'Currency of names that have no CURRENCY of their own.' },
    activate: { type: 'boolean', help: 'Serve it.' },
  },
  examples: ['divisor import ./prices --id desk --activate', 'divisor import book.xlsx --name "Desk book"'],
  async submit(client, [word = ''], flags) {
    const path = resolve(word);
    const common = {
      name: flags.text('name') ?? basename(path, extname(path)),
      store_id: flags.text('id'),
      adjustment: flags.text<'none' | 'splits' | 'total'>('adjustment'),
      currency: flags.text('currency'),
      activate: flags.isSet('activate'),
    };
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile() === true) {
      const format = formatOf(path);
      const content = (await readFile(path)).toString('base64');
      return { result: (await client.call('importStore', { body: { ...common, format, content } })).store };
    }
    // What is not here may be a folder of the machine of the service.
    return { result: await client.call('createStore', { body: { ...common, kind: 'folder', location: path } }) };
  },
  show: (store) => members(store, ['store_id', 'identifiers', 'start', 'end', 'content_hash']),
};

function formatOf(path: string): 'csv' | 'xlsx' {
  const extension = extname(path).toLowerCase();
  if (extension === '.zip') return 'csv';
  if (extension === '.xlsx') return 'xlsx';
  throw new UsageError(
    `${path} must be a folder, an .xlsx workbook or a .zip of CSV files; a single table is imported as the folder it lies in, named market.parquet, .csv or .jsonl`,
  );
}
