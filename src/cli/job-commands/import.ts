import type { DataStore, DivisorClient, InspectResult, Mapping } from '#clients/typescript/divisor.js';
import { jsonFile, type FlagValues } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { UsageError } from '../usage-error.js';
import { dataSource, type DataSource } from './data-source.js';
import { members } from './fields.js';
import { inspected, type Reading } from './inspect.js';

type Adjustment = DataStore['adjustment'];

export const importMarket: JobCommand<DataStore> = {
  summary: 'Register a folder or database, or import a workbook or a zip of CSV files, as a data store.',
  words: [{ name: 'PATH', help: 'A folder, a table, an .xlsx or .zip file, or the URL of a database.' }],
  notes:
    'A folder is read where it lies, by the service: with --url its path is one of the machine of the service, below its data roots.',
  flags: {
    id: { type: 'string', value: 'STORE', help: 'Id of the store; from its name otherwise.' },
    name: { type: 'string', value: 'NAME', help: 'Display name; the file name otherwise.' },
    mapping: {
      type: 'string',
      value: 'FILE',
      help: 'How the market is read, as inspect --out writes it, or a mapping alone; - is standard input.',
    },
    inspect: { type: 'boolean', help: 'Read it as divisor inspect proposes, unless that leaves a question.' },
    adjustment: {
      type: 'string',
      value: 'none|splits|total',
      help: 'Price basis of CLOSE.',
      choices: ['none', 'splits', 'total'],
    },
    currency: { type: 'string', value: 'CODE', help: 'Currency of names that have no CURRENCY of their own.' },
    activate: { type: 'boolean', help: 'Serve it.' },
  },
  examples: [
    'divisor import ./prices --id desk --activate',
    'divisor import ./vendor --inspect --activate',
    'divisor import book.xlsx --name "Desk book"',
  ],
  async submit(client, [word = ''], flags) {
    const source = await dataSource(word);
    const terms = await termsOf(client, source, flags);
    const common = {
      name: flags.text('name') ?? source.name,
      store_id: flags.text('id'),
      currency: flags.text('currency'),
      activate: flags.isSet('activate'),
      ...terms,
    };
    if (source.kind === 'content') {
      const { tables: _none, ...body } = common;
      const { format, content } = source;
      return { result: (await client.call('importStore', { body: { ...body, format, content } })).store };
    }
    return {
      result: await client.call('createStore', { body: { ...common, kind: source.kind, location: source.location } }),
    };
  },
  show: (store) => members(store, ['store_id', 'identifiers', 'start', 'end', 'adjustment', 'content_hash']),
};

interface Terms {
  readonly mapping?: Mapping;
  readonly adjustment?: Adjustment | undefined;
  readonly tables: InspectResult['tables'];
}

/** How the data is read: as the command line says it, or as the service proposes. @throws UsageError where a question is left */
async function termsOf(client: DivisorClient, source: DataSource, flags: FlagValues): Promise<Terms> {
  const tables = source.kind === 'content' ? {} : source.tables;
  const adjustment = flags.text<Adjustment>('adjustment');
  const file = flags.text('mapping');
  if (file !== undefined && flags.isSet('inspect') === true)
    throw new UsageError('--mapping and --inspect both say how the market is read; one of them is needed');
  if (file !== undefined) return { tables, ...readingOf(await jsonFile<Reading | Mapping>(file), adjustment) };
  if (flags.isSet('inspect') !== true) return { adjustment, tables };
  const proposed = await inspected(client, source);
  if (proposed.confidence === 'unsure') throw new UsageError(unsureOf(proposed));
  return {
    mapping: proposed.mapping,
    adjustment: adjustment ?? proposed.adjustment,
    tables: { ...tables, ...proposed.tables },
  };
}

/** The adjustment of the command line counts before that of the file. */
function readingOf(read: Reading | Mapping, adjustment: Adjustment | undefined): Omit<Terms, 'tables'> {
  const isReading = typeof read === 'object' && read !== null && 'mapping' in read;
  return isReading ? { ...read, adjustment: adjustment ?? read.adjustment } : { mapping: read, adjustment };
}

function unsureOf({ questions, findings }: InspectResult): string {
  const said = [
    ...questions,
    ...findings
      .filter(({ severity }) => severity === 'error')
      .map(({ code, path, message }) => `${code} ${path}: ${message}`),
  ];
  return `the data leaves questions:\n${said.map((line) => `  ${line}\n`).join('')}divisor inspect PATH --out mapping.json writes what is proposed; mended, it goes to import --mapping`;
}
