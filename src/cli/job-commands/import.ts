import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import {
  DivisorError,
  type DataStore,
  type DivisorClient,
  type ImportRequest,
  type ImportResult,
  type InspectResult,
  type Mapping,
} from '#clients/typescript/divisor.js';
import { readJsonFile, type FlagValues } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { formatTable } from '../terminal.js';
import { UsageError } from '../usage-error.js';
import { NOTE } from '../view-commands/documents.js';
import { readDataSource, type DataSource } from './data-source.js';
import { formatMembers } from './fields.js';
import {
  listAssumedChoices,
  listAssumptions,
  countProblems,
  formatFindings,
  formatFinding,
  requestInspection,
  suggestIgnoreFlag,
  type StoredMapping,
} from './inspect.js';
import { readMappingAnswers, formatFlag, READING_FLAGS, type MappingAnswers } from './reading-flags.js';

type Adjustment = DataStore['adjustment'];

/** Format and mapping that an inspection proposed. */
type ImportProposal = Pick<InspectResult, 'recognised_as' | 'confidence' | 'mapping' | 'basis' | 'unsure'>;

/** Store, and the mapping of its data if an inspection proposed one. */
type ImportedStore = DataStore & { readonly read_as: ImportProposal | null };

export const importMarket: JobCommand<ImportedStore> = {
  summary: 'Register a folder or database, or import a workbook or a zip of CSV files, as a data store.',
  words: [{ name: 'PATH', help: 'A folder, a table, an .xlsx or .zip file, or the URL of a database.' }],
  notes:
    'The service reads a folder in place: with --url its path refers to the machine of the service, under its data roots.',
  flags: {
    id: { type: 'string', value: 'STORE', help: 'Id of the store. Default: derived from its name.' },
    name: { type: 'string', value: 'NAME', help: 'Display name. Default: the file name.' },
    mapping: {
      type: 'string',
      value: 'FILE',
      help: 'File with the mapping: the output of inspect --out, or a mapping only; - reads standard input.',
    },
    inspect: {
      type: 'boolean',
      help: 'Use the mapping that divisor inspect proposes, if the flags below answer all its questions.',
    },
    currency: { type: 'string', value: 'CODE', help: 'Currency of securities without a CURRENCY value.' },
    activate: { type: 'boolean', help: 'Serve the store.' },
    ...NOTE,
    ...READING_FLAGS,
  },
  examples: [
    'divisor import ./prices --id desk --activate',
    'divisor import ./vendor --inspect --activate',
    'divisor import closes.csv --inspect --adjustment splits --activate',
    'divisor import book.xlsx --name "Desk book"',
  ],
  async submit(client, [word = ''], flags) {
    const source = await readDataSource(word);
    const note = flags.text('note');
    const { read_as = null, ...terms } = await determineTerms(client, source, flags);
    const commonTerms = {
      name: flags.text('name') ?? source.name,
      store_id: flags.text('id'),
      currency: flags.text('currency'),
      activate: flags.isSet('activate'),
      ...terms,
    };
    if (source.kind === 'content') {
      const { tables: _none, ...body } = commonTerms;
      const { format, content } = source;
      const { store } = await (format === 'parquet'
        ? uploadTable(client, content, { ...body, note })
        : client.call('importStore', { body: { ...body, format, content }, note }));
      return { result: { ...store, read_as } };
    }
    const { kind, location } = source;
    const store = await client.call('createStore', { body: { ...commonTerms, kind, location }, note });
    return { result: { ...store, read_as } };
  },
  lines: (store) => ({ event: '', records: [], rest: shortenStore(store) }),
  notices: ({ read_as: importProposal }) => (importProposal === null ? [] : listAssumptions(importProposal)),
  show: (store) =>
    [
      formatStore(store),
      ...(store.read_as === null ? [] : [formatReading(store.read_as)]),
      ...(store.findings === undefined || store.findings.length === 0 ? [] : [formatFindings(store.findings)]),
    ].join('\n'),
};

type DeclaredImport = Pick<ImportRequest, 'name' | 'store_id' | 'adjustment' | 'activate' | 'mapping'> & {
  readonly currency?: string | undefined;
};

/** Uploads a table in Parquet format, with the declarations of the import. */
function uploadTable(
  client: DivisorClient,
  content: string,
  { mapping, note, ...declared }: DeclaredImport & { readonly note: string | undefined },
): Promise<ImportResult> {
  const query = { ...declared, ...(mapping == null ? {} : { mapping: JSON.stringify(mapping) }) };
  const bytes = new Uint8Array(Buffer.from(content, 'base64'));
  return client.upload('importStore', 'application/vnd.apache.parquet', bytes, { query, note });
}

/** Maximum number of files that one line of output lists. */
const FILES_MAX = 10;

/**
 * Shortens a store so that it fits on one line of output. Only the first files are listed; their total number is added.
 */
export const shortenStore = <S extends { readonly files?: readonly unknown[] | undefined }>({
  files = [],
  ...store
}: S): object =>
  files.length <= FILES_MAX
    ? { ...store, files }
    : { ...store, files: files.slice(0, FILES_MAX), files_total: files.length };

const formatStore = (store: DataStore) =>
  formatMembers(store, ['store_id', 'identifiers', 'start', 'end', 'adjustment', 'content_hash']);

const formatReading = (importProposal: ImportProposal) =>
  `Read as ${importProposal.recognised_as ?? 'its column names state'}\n${formatTable(listAssumedChoices(importProposal).map((line) => [line]))}`;

interface ImportTerms {
  readonly mapping?: Mapping;
  readonly adjustment?: Adjustment | undefined;
  readonly tables: InspectResult['tables'];
  readonly read_as?: ImportProposal;
}

/**
 * Determines the mapping: from the command line, or from the proposal of the service.
 * @throws UsageError if a question has no answer
 */
async function determineTerms(client: DivisorClient, source: DataSource, flags: FlagValues): Promise<ImportTerms> {
  const tables = source.kind === 'content' ? {} : source.tables;
  const answers = readMappingAnswers(flags);
  const { adjustment, ...otherAnswers } = answers;
  const file = flags.text('mapping');
  if (file !== undefined && flags.isSet('inspect') === true)
    throw new UsageError('--mapping and --inspect exclude each other, because both define how the market is read');
  if (file !== undefined)
    return { tables, ...mergeMappingAnswers(await readJsonFile<StoredMapping | Mapping>(file), answers) };
  // Flags for columns and days only complete the proposal that comes from the data.
  if (flags.isSet('inspect') !== true && Object.keys(otherAnswers).length === 0) return { adjustment, tables };
  const proposal = await requestInspection(client, source, answers);
  const hasRequiredQuestions = proposal.unsure.some(({ required }) => required);
  const errors = proposal.findings.filter(({ severity }) => severity === 'error');
  if (errors.length > 0 && (!hasRequiredQuestions || proposal.rows_read === 0))
    throw createUnreadableError(errors, proposal);
  if (proposal.confidence === 'unsure') throw new UsageError(describeOpenQuestions(proposal));
  const { recognised_as, confidence, mapping, basis, unsure } = proposal;
  return {
    mapping,
    adjustment: proposal.adjustment,
    tables: { ...tables, ...proposal.tables },
    read_as: { recognised_as, confidence, mapping, basis, unsure },
  };
}

/** Merges the mapping of a file with the answers of the flags. Flags override the file. */
function mergeMappingAnswers(
  read: StoredMapping | Mapping,
  { adjustment, ...otherAnswers }: MappingAnswers,
): Omit<ImportTerms, 'tables'> {
  const isProposal = typeof read === 'object' && read !== null && 'mapping' in read;
  const { mapping, adjustment: proposedAdjustment } = isProposal ? read : { mapping: read, adjustment: undefined };
  return { mapping: { ...mapping, ...otherAnswers } as Mapping, adjustment: adjustment ?? proposedAdjustment }; // the service validates it
}

/** Creates the error for rows with errors. No answer about the mapping can correct them. */
const createUnreadableError = (findings: InspectResult['findings'], proposal: InspectResult) => {
  const message = [
    `${formatCount(countProblems(findings), 'error')} in the data.`,
    ...suggestIgnoreFlag(proposal),
    ...listRequiredQuestions(proposal),
  ].join(' ');
  return new DivisorError({ code: 'VALIDATION_FAILED', message, detail: { findings } }, { status: 422 });
};

/** Lists the open questions, each with its flag. */
const listRequiredQuestions = ({ unsure }: Pick<InspectResult, 'unsure'>) =>
  unsure.filter(({ required }) => required).map(({ field, question }) => `--${formatFlag(field)}: ${question}`);

function describeOpenQuestions(proposal: InspectResult): string {
  const statements = [
    ...listRequiredQuestions(proposal),
    ...proposal.findings.filter(({ severity }) => severity === 'error').map(formatFinding),
    ...suggestIgnoreFlag(proposal),
  ];
  const linesText = statements.map((line) => `  ${line}\n`).join('');
  return `the format of the data is ambiguous:\n${linesText}Each flag answers its question. Or write the proposal with divisor inspect PATH --out mapping.json, edit it and pass it to import --mapping`;
}
