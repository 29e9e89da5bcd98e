import { readFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import type { DivisorClient, RiskModelImportInput, RiskModelImportResult } from '#clients/typescript/divisor.js';
import { MODEL_FILES } from '#domain/risk/imported/import-terms.js';
import { readJsonFile, type FlagValues } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { formatTable } from '../terminal.js';
import { UsageError } from '../usage-error.js';

const UNITS = ['annual', 'daily'] as const;
type Units = (typeof UNITS)[number];

/** Media types of files by their ending. */
const MEDIA: Readonly<Record<string, keyof typeof MODEL_FILES>> = {
  '.csv': 'text/csv',
  '.arrow': 'application/vnd.apache.arrow.stream',
};

export const importRisk: JobCommand<RiskModelImportResult> = {
  summary: 'Store an imported risk model.',
  words: [
    { name: 'MODEL', help: 'Id under which the model is stored.' },
    { name: 'FILE', help: 'A .json, .csv or .arrow file, for example an exported model.' },
  ],
  notes:
    'A .csv or .arrow file has the columns date, table, row, column and value, or date, identifier and one column for each security.',
  flags: {
    units: {
      type: 'string',
      value: UNITS.join('|'),
      help: 'Period of the variances of a .csv or .arrow file.',
      choices: UNITS,
    },
    annualisation: { type: 'number', value: 'N', help: 'Sessions per year, for daily units. Default: 252.' },
    date: { type: 'string', value: 'DATE', help: 'Date of a file without a column date.' },
    repair: { type: 'boolean', help: 'Repair matrices that are not symmetric or not positive semi-definite.' },
  },
  examples: [
    'divisor import-risk vendor model.json',
    'divisor import-risk vendor covariances.csv --units daily --date 2024-01-31',
  ],
  submit: async (client, [model_id = '', word = ''], flags) => ({
    result: await sendModel(client, { model_id, word }, flags),
  }),
  notices: ({ findings }) => findings.map(({ message }) => message),
  show: ({ model_id, assets, factors, imported: { dates }, findings }) =>
    [
      `${model_id} over ${assets} securities${factors.length === 0 ? '' : ` and ${factors.length} factors`}`,
      formatTable(
        dates.map(({ date, assets: securities, repaired }) => [
          date,
          `${securities} securities`,
          repaired ? 'repaired' : '',
        ]),
      ),
      ...findings.map(({ message }) => message),
    ].join('\n'),
};

interface CommandWords {
  readonly model_id: string;
  readonly word: string;
}

async function sendModel(
  client: DivisorClient,
  { model_id, word }: CommandWords,
  flags: FlagValues,
): Promise<RiskModelImportResult> {
  const path = resolve(word);
  const extension = extname(path).toLowerCase();
  const params = { model_id };
  const terms = {
    units: flags.text<Units>('units'),
    annualisation: flags.number('annualisation'),
    repair: flags.isSet('repair'),
  };
  const date = flags.text('date');
  if (extension === '.json') {
    if (date !== undefined)
      throw new UsageError('--date applies to a .csv or .arrow file; JSON contains the date of each model');
    const body = {
      ...(await readJsonFile<RiskModelImportInput>(path)),
      ...removeUndefined(terms),
    } as RiskModelImportInput; // The service validates it.
    return client.call('importRiskModel', { params, body });
  }
  const media = MEDIA[extension];
  if (media === undefined) throw new UsageError(`${path} must be a .json, .csv or .arrow file`);
  if (terms.units === undefined) throw new UsageError('a .csv or .arrow file needs --units annual or daily');
  const bytes = new Uint8Array(
    await readFile(path).catch(() => Promise.reject(new UsageError(`there is no file ${path}`))),
  );
  return client.upload('importRiskModel', media, bytes, { params, query: { ...removeUndefined(terms), date } });
}

function removeUndefined<T extends object>(terms: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(terms).filter(([, value]) => value !== undefined && value !== false),
  ) as Partial<T>;
}
