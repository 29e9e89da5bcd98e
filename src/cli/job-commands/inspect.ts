import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import type { DivisorClient, InspectResult } from '#clients/typescript/divisor.js';
import type { JobCommand } from '../job-command.js';
import { EXIT } from '../connection.js';
import { formatTable } from '../terminal.js';
import { readDataSource, type DataSource } from './data-source.js';
import { readMappingAnswers, formatFlag, READING_FLAGS, type MappingAnswers } from './reading-flags.js';

export const inspectData: JobCommand<InspectResult> = {
  summary: 'Inspect data and propose a mapping for its import.',
  words: [{ name: 'PATH', help: 'A folder, a table, an .xlsx or .zip file, or the URL of a database.' }],
  notes:
    '--out writes the mapping and the adjustment for import --mapping. Flags answer questions in advance. Nothing is stored. The exit status is 2 if the data cannot be read as proposed.',
  flags: READING_FLAGS,
  examples: ['divisor inspect ./vendor', 'divisor inspect ./vendor --date-format MM/DD/YYYY --out mapping.json'],
  async submit(client, [word = ''], flags) {
    return { result: await requestInspection(client, await readDataSource(word), readMappingAnswers(flags)) };
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
export interface StoredMapping {
  readonly adjustment: InspectResult['adjustment'];
  readonly mapping: InspectResult['mapping'];
}

/** Asks the service to propose a mapping for the data. @param answers answers to questions of an earlier proposal */
export function requestInspection(
  client: DivisorClient,
  source: DataSource,
  answers: MappingAnswers,
): Promise<InspectResult> {
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
export function suggestIgnoreFlag({
  files,
  faulty_files: names,
}: Pick<InspectResult, 'files' | 'faulty_files'>): string[] {
  if (names.length === 0 || names.length >= files) return [];
  return [
    `${names.length} of ${formatCount(files, 'file')} cannot be read this way; --ignore ${quoteWord(names.join(','))} skips them.`,
  ];
}

/** Quotes a word for a shell. */
const quoteWord = (text: string) =>
  /^[\w.,@%+=:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

type InspectFinding = InspectResult['findings'][number];

/** Formats a finding as a line of an error. */
export const formatFinding = ({ code, file, path, message }: InspectFinding) =>
  `${code} ${file === undefined ? '' : `${file} `}${path}: ${message}`;

/** Maximum number of findings in the output, and maximum number of preview rows. */
const LISTED_ROWS_MAX = 10;

type Assumptions = Pick<InspectResult, 'basis' | 'unsure'>;

/** Returns the assumptions that were not confirmed by an answer: see `listAssumedChoices`. */
export const listAssumptions = (assumptions: Assumptions): readonly string[] =>
  listAssumedChoices(assumptions).slice(assumptions.unsure.some(({ field }) => field === 'adjustment') ? 0 : 1);

/** Returns the assumptions about ambiguous data and the flags that change them. The price adjustment comes first. */
export function listAssumedChoices({ basis, unsure }: Assumptions): readonly string[] {
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
export const countProblems = (findings: InspectResult['findings']): number =>
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
