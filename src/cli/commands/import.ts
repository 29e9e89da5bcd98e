import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import {
  type DataStore,
  type DivisorClient,
  DivisorError,
  type ImportRequest,
  type ImportResult,
  type InspectRequest,
  type InspectResult,
  type Mapping,
} from '#clients/typescript/divisor.js';
import { formatCount } from '#domain/base/numbers.js';
import { Mapping as MarketMapping } from '#domain/definition/mapping.js';
import { formatTable } from '../terminal.js';
import { UsageError } from '../usage.js';
import { type Flag, type FlagValues, readJsonFile } from './command-line.js';
import { EXIT } from './connection.js';
import { NOTE } from './documents.js';
import { formatMembers, type JobCommand } from './job-command.js';

/**
 * Converts an Arrow or Feather file, or an Arrow stream, to Parquet. @throws UsageError if its format is not supported
 */
async function convertArrowToParquet(path: string): Promise<Buffer> {
  const [{ isUnreadCompression }, { writeArrowAsParquet }, { createProblems }] = await Promise.all([
    import('#market/formats/arrow.js'),
    import('#market/formats/arrow.js'),
    import('#market/tables/problems.js'),
  ]);
  if (isUnreadCompression(path))
    throw new UsageError(
      `${path} is compressed by ZSTD; Arrow files must be uncompressed or compressed by LZ4, or convert to Parquet`,
    );
  const folder = await mkdtemp(join(tmpdir(), 'divisor-arrow-'));
  try {
    const problems = createProblems();
    const to = join(folder, 'market.parquet');
    if (!(await writeArrowAsParquet(path, to, 'market', problems)))
      throw new UsageError(
        `${path}: ${problems
          .findings()
          .map(({ message }) => message)
          .join(' ')}`,
      );
    return await readFile(to);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Data that a command line names: a location that the service reads, or a file that the command uploads. */
type DataSource =
  | {
      readonly kind: 'folder' | 'database';
      readonly location: string;
      /** Name of the market file in the folder, if one file was named. */
      readonly tables: { readonly market?: string };
      readonly name: string;
    }
  | {
      readonly kind: 'content';
      readonly format: 'csv' | 'xlsx' | 'parquet';
      /** Content of the file in Base64. */
      readonly content: string;
      readonly name: string;
    };

/** Table files that the service reads in place. */
const TABLE_FILES = /\.(parquet|csv|csv\.gz|jsonl|jsonl\.gz|txt|tsv)$/i;

/** Files to upload to the service. */
const UPLOADED_FILES = /\.(xlsx|zip|arrow|feather|ipc)$/i;

/** Files to convert to Parquet before the upload. */
const ARROW_FILES = /\.(arrow|feather|ipc)$/i;

/**
 * Parses the word that names the data. Reads the file if it must be uploaded. @throws UsageError for a file of another
 * kind, or if the file to upload does not exist
 */
async function readDataSource(word: string): Promise<DataSource> {
  if (word.includes('://')) return { kind: 'database', location: word, tables: {}, name: basename(word) };
  const path = resolve(word);
  const name = basename(path).replace(TABLE_FILES, '');
  const result = await stat(path).catch(() => undefined);
  // A path that does not exist here may be a folder or a table on the machine of the service.
  if (result === undefined && UPLOADED_FILES.test(path)) throw new UsageError(`there is no file ${path}`);
  const isFile = result?.isFile() ?? TABLE_FILES.test(path);
  if (!isFile) return { kind: 'folder', location: path, tables: {}, name: basename(path) };
  if (TABLE_FILES.test(path))
    return { kind: 'folder', location: dirname(path), tables: { market: basename(path) }, name };
  const format = detectFormat(path);
  const bytes = await (format === 'parquet' ? convertArrowToParquet(path) : readFile(path));
  return { kind: 'content', format, content: bytes.toString('base64'), name: basename(path, extname(path)) };
}

/** Text tables, whose content can be uploaded. */
const TEXT_FILES = /\.(csv|csv\.gz|txt|tsv)$/i;

/**
 * Returns the content of one table on this machine that the service cannot read in place; undefined if the word names
 * no such table.
 */
async function readTableContent(source: DataSource): Promise<DataSource | undefined> {
  if (source.kind !== 'folder' || source.tables.market === undefined) return undefined;
  const { name, location, tables } = source;
  const path = join(location, tables.market!);
  const isText = TEXT_FILES.test(path);
  if (!isText && !/\.parquet$/i.test(path)) return undefined;
  const bytes = await readFile(path).catch(() => undefined);
  if (bytes === undefined) return undefined;
  const content = (/\.gz$/i.test(path) ? gunzipSync(bytes) : bytes).toString('base64');
  return { kind: 'content', format: isText ? 'csv' : 'parquet', content, name };
}

const PLACE_CODES: ReadonlySet<string> = new Set(['LOCATION_NOT_ALLOWED', 'LOCATION_NOT_FOUND']);

/**
 * Calls `use` with the data that the word names. A table that the service may not read in place, or that only this
 * machine has, is uploaded instead.
 */
async function useDataSource<T>(
  word: string,
  use: (source: DataSource, isUploadedInstead: boolean) => Promise<T>,
): Promise<T> {
  const source = await readDataSource(word);
  try {
    return await use(source, false);
  } catch (failure) {
    const isPlaceRefused =
      failure instanceof DivisorError &&
      failure.findings.some(({ code, path }) => path === 'location' && PLACE_CODES.has(code));
    const uploadedSource = isPlaceRefused ? await readTableContent(source) : undefined;
    if (uploadedSource === undefined) throw failure;
    return use(uploadedSource, true);
  }
}

function detectFormat(path: string): 'csv' | 'xlsx' | 'parquet' {
  const extension = extname(path).toLowerCase();
  if (extension === '.zip') return 'csv';
  if (extension === '.xlsx') return 'xlsx';
  if (ARROW_FILES.test(path)) return 'parquet';
  throw new UsageError(
    `${path} must be a folder, a table (.parquet, .csv, .jsonl, .txt, .tsv, .arrow, .feather), an .xlsx workbook or a .zip of CSV files`,
  );
}

/** Answers about the data: the members of a mapping, and the price adjustment. */
type MappingAnswers = NonNullable<InspectRequest['answers']>;

/** Returns the flag for a member of a mapping or for the price adjustment. */
const formatFlag = (field: string) => field.replaceAll('_', '-');

/**
 * One flag for each member of a mapping and for the price adjustment. Flags can therefore answer every question of an
 * inspection.
 */
const READING_FLAGS: Readonly<Record<string, Flag>> = {
  adjustment: { value: 'none|splits|total', help: 'Price basis of CLOSE.', choices: ['none', 'splits', 'total'] },
  ...Object.fromEntries(
    Object.entries(MarketMapping.shape).map(([field, schema]): [string, Flag] => [
      formatFlag(field),
      { ...describeFlag(schema.unwrap()), help: schema.description ?? '' },
    ]),
  ),
};

function describeFlag(schema: z.ZodType): Omit<Flag, 'help'> {
  if (schema instanceof z.ZodNullable) {
    const { choices, ...form } = describeFlag(schema.unwrap() as z.ZodType); // a zod schema
    return choices === undefined ? form : { ...form, value: `${form.value}|none`, choices: [...choices, 'none'] };
  }
  if (schema instanceof z.ZodEnum) {
    const choices = schema.options.map(String);
    return { value: choices.map((choice) => (choice === ' ' ? "' '" : choice)).join('|'), choices };
  }
  if (schema instanceof z.ZodNumber) return { type: 'number', value: 'N' };
  if (schema instanceof z.ZodRecord) return { value: 'A=B,C=D' };
  return { value: schema instanceof z.ZodArray ? 'A,B' : 'TEXT' };
}

/** Collects the answers that the flags give. Members without a flag are left out. @throws UsageError */
function readMappingAnswers(flags: FlagValues): MappingAnswers {
  const readingFlags = ['adjustment', ...Object.keys(MarketMapping.shape)].flatMap((field) => {
    const text = flags.text(formatFlag(field));
    return text === undefined ? [] : [[field, parseValue(field, text)] as const];
  });
  return Object.fromEntries(readingFlags) as MappingAnswers; // the schema of each member parsed its value
}

/** Parses the value of a member. If the member can be null, `none` means null. */
function parseValue(field: string, text: string): unknown {
  const schema = field in MarketMapping.shape ? MarketMapping.shape[field as keyof MarketMapping].unwrap() : undefined;
  if (schema instanceof z.ZodNullable) return text === 'none' ? null : text;
  if (schema instanceof z.ZodNumber) return Number(text);
  if (schema instanceof z.ZodArray) return text.split(',');
  if (!(schema instanceof z.ZodRecord)) return text;
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const separator = pair.indexOf('=');
      if (separator < 1)
        throw new UsageError(
          `--${formatFlag(field)} must be pairs separated by commas, for example CLOSE=Last, not ${JSON.stringify(pair)}`,
        );
      return [pair.slice(0, separator), pair.slice(separator + 1)];
    }),
  );
}

const inspectData: JobCommand<InspectResult> = {
  summary: 'Inspect data and propose a mapping for its import.',
  words: [{ name: 'PATH', help: 'A folder, a table, an .xlsx or .zip file, or the URL of a database.' }],
  notes:
    '--out writes the mapping and the adjustment for import --mapping. Flags answer questions in advance. Nothing is stored. The exit status is 2 if the data cannot be read as proposed.',
  flags: READING_FLAGS,
  examples: ['divisor inspect ./vendor', 'divisor inspect ./vendor --date-format MM/DD/YYYY --out mapping.json'],
  async submit(client, [word = ''], flags) {
    const answers = readMappingAnswers(flags);
    return { result: await useDataSource(word, (source) => requestInspection(client, source, answers)) };
  },
  show: formatProposal,
  notices: (inspection) => [
    ...listAssumptions(inspection),
    ...listErrors(inspection).map(formatFinding),
    ...suggestIgnoreFlag(inspection),
  ],
  exitStatus: (inspection) =>
    listErrors(inspection).length > 0 || inspection.rows_read === 0 ? EXIT.refused : EXIT.done,
  file: (_client, { adjustment, mapping }) =>
    Promise.resolve(Buffer.from(`${JSON.stringify({ adjustment, mapping } satisfies StoredMapping, null, 2)}\n`)),
};

/** Mapping and adjustment as a file stores them. */
interface StoredMapping {
  readonly adjustment: InspectResult['adjustment'];
  readonly mapping: InspectResult['mapping'];
}

/** Asks the service to propose a mapping for the data. @param answers answers to questions of an earlier proposal */
function requestInspection(client: DivisorClient, source: DataSource, answers: MappingAnswers): Promise<InspectResult> {
  const body =
    source.kind === 'content'
      ? { content: source.content, format: source.format, answers }
      : { location: source.location, tables: source.tables, answers };
  return client.call('inspectData', { body });
}

/** Returns the findings because of which the data cannot be read as proposed. */
const listErrors = ({ findings }: Pick<InspectResult, 'findings'>) =>
  findings.filter(({ severity }) => severity === 'error');

/** Returns the flag that skips faulty files. Returns nothing if no other files remain. */
function suggestIgnoreFlag({ files, faulty_files: names }: Pick<InspectResult, 'files' | 'faulty_files'>): string[] {
  if (names.length === 0 || names.length >= files) return [];
  return [
    `${names.length} of ${formatCount(files, 'file')} cannot be read this way; --ignore ${quoteWord(names.join(','))} skips them.`,
  ];
}

const quoteWord = (text: string) =>
  /^[\w.,@%+=:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

type InspectFinding = InspectResult['findings'][number];

const formatFinding = ({ code, file, path, message }: InspectFinding) =>
  `${code} ${file === undefined ? '' : `${file} `}${path}: ${message}`;

/** Maximum number of findings in the output, and maximum number of preview rows. */
const LISTED_ROWS_MAX = 10;

type Assumptions = Pick<InspectResult, 'basis' | 'unsure'>;

/** Returns the assumptions that were not confirmed by an answer: see `listAssumedChoices`. */
const listAssumptions = (assumptions: Assumptions): readonly string[] =>
  listAssumedChoices(assumptions).slice(assumptions.unsure.some(({ field }) => field === 'adjustment') ? 0 : 1);

/** Returns the assumptions about ambiguous data and the flags that change them. The price adjustment comes first. */
function listAssumedChoices({ basis, unsure }: Assumptions): readonly string[] {
  const alternatives = basis.others.map(({ adjustment, meaning }) => `--adjustment ${adjustment} if ${meaning}`);
  const requests = unsure
    .filter(({ field }) => field !== 'adjustment')
    .map(({ field, question, taken, others }) => {
      const alternative = others.length === 0 ? '' : `, or ${others.map(quoteMark).join(', ')}`;
      return `${field} ${taken ?? 'none'}: ${question} Otherwise --${formatFlag(field)}${alternative}.`;
    });
  return [`adjustment ${basis.adjustment}: ${basis.reason} Otherwise ${alternatives.join('; ')}.`, ...requests];
}

/** Puts a single punctuation mark in quotes. Otherwise it would look like punctuation of the sentence. */
const quoteMark = (value: string) => (/^[^\w]$/.test(value) ? `"${value}"` : value);

/** Returns the number of problems of findings. A finding may stand for several. */
const countProblems = (findings: InspectResult['findings']): number =>
  findings.reduce((sum, { count }) => sum + (count ?? 1), 0);

/** Formats the first findings, each with its file. */
export function formatFindings(findings: InspectResult['findings']): string {
  const rows = findings
    .slice(0, LISTED_ROWS_MAX)
    .map(({ code, path, message, file }) => [code, file ?? '', path, message]);
  const count = countProblems(findings);
  return `Findings${count > rows.length ? `, the first ${rows.length} lines of ${count} findings` : ''}\n${formatTable(rows)}`;
}

function formatProposal({ mapping, preview, findings, questions: _sentences, ...rest }: InspectResult): string {
  const members = Object.entries(mapping).filter(([, value]) => {
    const isEmpty = value === null || (typeof value === 'object' && Object.keys(value).length === 0);
    return !isEmpty;
  });
  const formatCell = (value: unknown) => (value === null ? '' : String(value));
  return [
    formatTable([
      ['recognised as', rest.recognised_as ?? 'nothing in particular'],
      ['confidence', rest.confidence],
      ['files', String(rest.files)],
      ['rows read', String(rest.rows_read)],
    ]),
    `Mapping\n${formatTable(members.map(([member, value]) => [member, typeof value === 'string' ? value : JSON.stringify(value)]))}`,
    `Assumptions about ambiguous data\n${formatTable(listAssumedChoices(rest).map((line) => [line]))}`,
    ...(findings.length === 0 ? [] : [formatFindings(findings)]),
    ...(preview.data.length === 0
      ? []
      : [
          `Preview\n${formatTable([preview.columns, ...preview.data.slice(0, LISTED_ROWS_MAX).map((row) => row.map(formatCell))])}`,
        ]),
  ].join('\n');
}

type Adjustment = DataStore['adjustment'];

/** Format and mapping that an inspection proposed. */
type ImportProposal = Pick<InspectResult, 'recognised_as' | 'confidence' | 'mapping' | 'basis' | 'unsure'>;

/** Store, and the mapping of its data if an inspection proposed one. */
type ImportedStore = DataStore & { readonly read_as: ImportProposal | null };

const importMarket: JobCommand<ImportedStore> = {
  summary: 'Register a folder or database, or import a workbook or a zip of CSV files, as a data store.',
  words: [{ name: 'PATH', help: 'A folder, a table, an .xlsx or .zip file, or the URL of a database.' }],
  notes:
    'The service reads a folder or a table in place: with --url its path refers to the machine of the service, under its data roots. A table (.csv, .csv.gz, .txt, .tsv, .parquet) that it cannot read there is uploaded; the store then contains a copy.',
  flags: {
    id: { value: 'STORE', help: 'Id of the store. Default: derived from its name.' },
    name: { value: 'NAME', help: 'Display name. Default: the file name.' },
    mapping: {
      value: 'FILE',
      help: 'File with the mapping: the output of inspect --out, or a mapping only; - reads standard input.',
    },
    inspect: {
      type: 'boolean',
      help: 'Use the mapping that divisor inspect proposes, if the flags below answer all its questions.',
    },
    currency: { value: 'CODE', help: 'Currency of securities without a CURRENCY value.' },
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
  submit: (client, [word = ''], flags) =>
    useDataSource(word, async (source, isUploadedInstead) => {
      const result = await importSource(client, source, flags);
      if (isUploadedInstead)
        process.stderr.write(
          `The service cannot read ${basename(word)} in place, and has received a copy: import the file again after a change.\n`,
        );
      return { result };
    }),
  lines: (store) => ({ event: '', records: [], rest: shortenStore(store) }),
  notices: ({ read_as: importProposal }) => (importProposal === null ? [] : listAssumptions(importProposal)),
  show: (store) =>
    [
      formatStore(store),
      ...(store.read_as === null ? [] : [formatReading(store.read_as)]),
      ...(store.findings === undefined || store.findings.length === 0 ? [] : [formatFindings(store.findings)]),
    ].join('\n'),
};

/** Registers or uploads the data as a store. */
async function importSource(client: DivisorClient, source: DataSource, flags: FlagValues): Promise<ImportedStore> {
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
    const { store } = await (
      format === 'parquet'
        ? uploadTable(client, content, { ...body, note })
        : client.call('importStore', { body: { ...body, format, content }, note })
    ).catch((failure: unknown) => adviseInspection(failure, flags));
    return { ...store, read_as };
  }
  const { kind, location } = source;
  const store = await client
    .call('createStore', { body: { ...commonTerms, kind, location }, note })
    .catch((failure: unknown) => adviseInspection(failure, flags));
  return { ...store, read_as };
}

/** Findings that a mapping removes. */
const READING_CODES: ReadonlySet<string> = new Set(['MISSING_COLUMN', 'BAD_DATE', 'NOT_A_NUMBER']);

/** Adds to the refusal of data with other columns or formats how to have them recognised. @throws always */
function adviseInspection(failure: unknown, flags: FlagValues): never {
  const isRead = flags.isSet('inspect') === true || flags.text('mapping') !== undefined;
  if (failure instanceof DivisorError && !isRead && failure.findings.some(({ code }) => READING_CODES.has(code)))
    failure.message += ' Add --inspect: it recognises other columns, formats of dates and numbers, and wide tables.';
  throw failure;
}

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

/** Formats what an inspection recognised: the members of the mapping that differ from the format of the service. */
function formatReading(importProposal: ImportProposal): string {
  const plainMapping: Readonly<Record<string, unknown>> = MarketMapping.parse({});
  const recognisedMembers = Object.entries(importProposal.mapping).flatMap(([member, value]) => {
    const text = JSON.stringify(value);
    return text === JSON.stringify(plainMapping[member]) ? [] : [`${member} ${text}`];
  });
  return [
    `Read as ${importProposal.recognised_as ?? 'its column names state'}`,
    ...(recognisedMembers.length === 0 ? [] : [`  ${recognisedMembers.join(', ')}`]),
    formatTable(listAssumedChoices(importProposal).map((line) => [line])),
  ].join('\n');
}

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

/** Lists the open questions, each with its flag and the values that answer it. */
const listRequiredQuestions = ({ unsure }: Pick<InspectResult, 'unsure'>) =>
  unsure
    .filter(({ required }) => required)
    .map(({ field, question, taken, others }) => {
      const flag = `--${formatFlag(field)}`;
      const answers = [...(taken === null ? [] : [taken]), ...others].map(quoteMark);
      return `${flag}: ${question}${answers.length < 2 ? '' : ` Add ${flag} ${answers.join(' or ')}.`}`;
    });

function describeOpenQuestions(proposal: InspectResult): string {
  const statements = [
    ...listRequiredQuestions(proposal),
    ...proposal.findings.filter(({ severity }) => severity === 'error').map(formatFinding),
    ...suggestIgnoreFlag(proposal),
  ];
  const linesText = statements.map((line) => `  ${line}\n`).join('');
  return `the format of the data is ambiguous:\n${linesText}Each flag answers its question. Or write the proposal with divisor inspect PATH --out mapping.json, edit it and pass it to import --mapping`;
}

export const IMPORT_COMMANDS = {
  import: importMarket,
  inspect: inspectData,
};
