import { extname } from 'node:path';
import { suggestName } from '#base/nearest-name.js';
import type { AnyJob, DivisorClient, OperationId, Operations } from '#clients/typescript/divisor.js';
import { FINDING_CODES, type FindingCode } from '#domain/base/findings.js';
import { JOB_PRIORITIES, type JobPriority } from '#domain/outputs/job-priority.js';
import {
  alignRight,
  createJobScreen,
  formatTwoDecimals,
  formatPercentCell,
  formatTable,
  type JobScreen,
  onStopRequest,
  writeWhole,
} from '../terminal.js';
import { UsageError } from '../usage.js';
import { deriveRequest, type FlagValues, type Grammar, readCommandLine } from './command-line.js';
import { CONNECTION_HELP, EXIT, runWithService } from './connection.js';

/** Command that submits one job, follows it and shows its result. The result has type `R`. */
export interface JobCommand<R> extends Grammar {
  readonly summary: string;
  /** Notes for the reader of the help, in addition to the flags. */
  readonly notes?: string;
  /** Example calls for the help. */
  readonly examples: readonly string[];
  /** Submits the work. Returns the status of the job, or the result if the service answers at once. */
  submit(client: DivisorClient, words: readonly string[], flags: FlagValues): Promise<JobSubmission<R>>;
  /** Formats the result as text for a person. */
  show(result: R, flags: FlagValues): string;
  /**
   * Splits the result into records, each of which is a line for a program, and the rest. If absent, the whole result is
   * one line.
   */
  lines?(
    result: R,
    flags: FlagValues,
  ): { readonly event: string; readonly records: readonly object[]; readonly rest: object };
  /** Returns the records of the result as a table, for `--csv`. */
  csv?(
    result: R,
    flags: FlagValues,
  ): { readonly header: readonly string[]; readonly rows: readonly (readonly unknown[])[] };
  /**
   * Returns notices in addition to the result. If standard output is a pipe, each is a line on standard error. For a
   * person, `show` includes them.
   */
  notices?(result: R): readonly string[];
  /** Returns the exit status of the command. If absent, the status is `done`. */
  exitStatus?(result: R, flags: FlagValues): number;
  /** True if a home that the command opens is served with its stored data, without reading its source again. */
  readonly keepsServed?: true;
  /** Operation whose parameters the words and flags state, if the command sends only one request. */
  readonly operation?: OperationId;
  /** Members of every request, in addition to those of words and flags. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** Required extension of the file that `--out` names, such as `.pdf`. */
  readonly ending?: string;
  /** Returns the content of the file that `--out` names. If absent, it is the result as JSON. */
  file?(
    client: DivisorClient,
    result: R,
    outputFile: OutputFile,
  ): Promise<Uint8Array> | AsyncIterable<Uint8Array> | undefined;
}

export interface OutputFile {
  /** File name of the output. */
  readonly out: string;
  readonly words: readonly string[];
  readonly flags: FlagValues;
}

type JobSubmission<R> = { readonly job: AnyJob & { readonly result: R | null } } | { readonly result: R };

type Answer<K extends OperationId> = Operations[K]['answer'];
/** Result of an operation: of its job, if it starts one. */
type Outcome<K extends OperationId> =
  Answer<K> extends AnyJob ? NonNullable<Answer<K>['result']> : Exclude<Answer<K>, AnyJob>;

/** Command whose words and flags are the request of one operation. */
interface OfOperation<K extends OperationId> {
  readonly operation: K;
  /** Media types of the response by the extension of the file that `--out` names. All other files are JSON. */
  readonly media?: Readonly<Record<string, string>>;
}

type SendRequest = (operation: string, request: object) => Promise<unknown>;

/** Returns a command that sends its words and flags to an operation, and shows the result of the operation. */
export function createOperationCommand<K extends OperationId>({
  operation,
  media = {},
  ...command
}: OfOperation<K> & Omit<JobCommand<Outcome<K>>, 'submit' | 'operation'>): JobCommand<Outcome<K>> {
  return {
    operation,
    file: (client, _result, { out, ...line }) => {
      const type = media[extname(out).toLowerCase()];
      return type === undefined
        ? undefined
        : download(client, operation, type, deriveRequest(operation, command, line));
    },
    ...command,
    async submit(client, words, flags) {
      const send = client.call as unknown as SendRequest; // the grammar determines the request
      const answer = await send(operation, await deriveRequest(operation, command, { words, flags }));
      const isJob = typeof answer === 'object' && answer !== null && 'job_id' in answer && 'status' in answer;
      return (isJob ? { job: answer } : { result: answer }) as JobSubmission<Outcome<K>>; // as the operation declares
    },
  };
}

const download = async (
  client: DivisorClient,
  operation: OperationId,
  type: string,
  request: ReturnType<typeof deriveRequest>,
): Promise<Uint8Array> => client.download(operation, type, (await request) as never); // as in `submit`

/**
 * Runs a job command. On a terminal, progress is one line and the result is a table. On a pipe, or with `--json`, every
 * change of progress and the result are one JSON object per line. Ctrl-C cancels the job.
 */
export async function runJobCommand<R>(
  name: string,
  command: JobCommand<R>,
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const { words, flags, common } = readCommandLine(name, command, argv);
  if (common.csv && command.csv === undefined) throw new UsageError(`divisor ${name} has no table for CSV`);
  const extension = extname(common.out ?? '').toLowerCase();
  if (command.ending !== undefined && extension !== '' && extension !== command.ending)
    throw new UsageError(
      `the extension of ${common.out} must be ${command.ending}, the format that divisor ${name} writes`,
    );
  const run = async (client: DivisorClient) => {
    const screen = createJobScreen(name, common);
    const result = await awaitResult(client, command.submit(client, words, flags), screen);
    if (result === CANCELLED) return EXIT.interrupted;
    const status = command.exitStatus?.(result, flags) ?? EXIT.done;
    if (screen.asJson)
      for (const notice of command.notices?.(result) ?? []) process.stderr.write(`divisor ${name}: ${notice}\n`);
    if (common.csv) {
      const text = formatCsv(command.csv!(result, flags)); // a command accepts --csv only if it can write CSV
      if (common.out === undefined) process.stdout.write(text);
      else await writeWhole(common.out, [Buffer.from(text)]);
      return status;
    }
    if (common.out !== undefined) {
      const content = command.file?.(client, result, { out: common.out, words, flags });
      const isStream = content !== undefined && Symbol.asyncIterator in content;
      const chunks = isStream ? content : [(await content) ?? Buffer.from(`${JSON.stringify(result)}\n`)];
      await writeWhole(common.out, chunks);
    }
    screen.done(common.out);
    if (!screen.asJson) process.stdout.write(command.show(result, flags));
    else if (common.out !== undefined) screen.line({ event: 'result', out: common.out });
    else printLines(screen, command.lines?.(result, flags) ?? { event: '', records: [], rest: result as object });
    return status;
  };
  return runWithService(common, environment, run, { keepsServed: command.keepsServed === true });
}

function printLines(
  { line }: { line(record: object): void },
  { event, records, rest }: { readonly event: string; readonly records: readonly object[]; readonly rest: object },
): void {
  for (const record of records) line({ event, ...record });
  line({ event: 'result', result: rest });
}

/**
 * Formats a table as CSV (RFC 4180). Numbers are not formatted. Text that starts like a formula gets an apostrophe in
 * front.
 */
function formatCsv({
  header,
  rows,
}: {
  readonly header: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}): string {
  const formatCell = (value: unknown) => {
    if (typeof value !== 'string') return value === null || value === undefined ? '' : String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [header, ...rows].map((row) => `${row.map(formatCell).join(',')}\r\n`).join('');
}

const CANCELLED = Symbol('cancelled');

/**
 * Waits for the result of submitted work. If it fails, the progress line is cleared, so that the message has its own
 * line.
 */
async function awaitResult<R>(
  client: DivisorClient,
  submission: Promise<JobSubmission<R>>,
  screen: JobScreen,
): Promise<R | typeof CANCELLED> {
  try {
    const jobOrResult = await screen.waiting(submission);
    const result =
      'result' in jobOrResult
        ? jobOrResult.result
        : await followJob(client, jobOrResult.job, (job) => screen.status(job));
    if (result === CANCELLED) screen.abandon();
    return result;
  } catch (failure) {
    screen.abandon();
    throw failure;
  }
}

/** Waits for the result of a job. The first Ctrl-C cancels the job; the second ends the command at once. */
async function followJob<R>(
  client: DivisorClient,
  job: AnyJob & { readonly result: R | null },
  onProgress: (job: AnyJob) => void,
): Promise<R | typeof CANCELLED> {
  let wasInterrupted = false;
  const cancelJob = () => {
    wasInterrupted = true;
    // A failed cancellation is not reported here, because the command still follows the job.
    client.call('cancelJob', { params: { job_id: job.job_id } }).catch(() => undefined);
  };
  const stopListening = onStopRequest(['SIGINT'], cancelJob);
  try {
    return await client.waitForJob(job, { onProgress });
  } catch (failure) {
    if (wasInterrupted) return CANCELLED;
    throw failure;
  } finally {
    stopListening();
  }
}

const EXIT_STATUSES = [
  ['0', 'done'],
  ['1', 'the job failed, or another client cancelled it'],
  ['2', 'the service refused the request; every finding is printed'],
  ['3', 'a finding with a code of --fail-on; a rejected refresh stored nothing'],
  ['64', 'wrong usage'],
  ['69', 'no service answers at the address'],
  ['70', 'the service failed; its log states the reason'],
  ['74', 'the service did not respond in time; the work may still be running: check before you try again'],
  [
    '75',
    'the service is busy, is stopping or has no data, or a job with the same id runs for another request: try again',
  ],
  ['77', 'the key is missing, is wrong or lacks the scope'],
  ['130', 'interrupted; the job was cancelled'],
];

export function formatJobCommandHelp<R>(name: string, command: JobCommand<R>): string {
  const { words = [], flags: commandFlags = {} } = command;
  const wordNames = words.map((word) => word.name).join(' ');
  const flags = Object.entries(commandFlags).map(([flag, { value, help }]) => [
    `--${flag}${value === undefined ? '' : ` ${value}`}`,
    help,
  ]);
  const commonRows = [
    ['--out FILE', 'Write the result to a file.'],
    ['--json', 'One JSON object per line, the default on a pipe.'],
    ...(command.csv === undefined ? [] : [['--csv', 'CSV output, on a terminal and on a pipe.']]),
    ...CONNECTION_HELP.map((row) => [...row]),
  ];
  return [
    `divisor ${name}: ${command.summary}\n`,
    `Usage: divisor ${name} ${wordNames === '' ? '' : `${wordNames} `}[flags]\n`,
    ...(words.length === 0 ? [] : [formatTable(words.map((word) => [word.name, word.help]))]),
    ...(command.notes === undefined ? [] : [`${command.notes}\n`]),
    `Flags\n${formatTable([...flags, ...commonRows])}`,
    `Examples\n${formatTable(command.examples.map((example) => [example]))}`,
    `Exit statuses\n${formatTable(EXIT_STATUSES.filter(([status]) => status !== '3' || 'fail-on' in commandFlags))}`,
  ].join('\n');
}

/** Members that are fractions, shown as percentages. */
const FRACTION_METRICS = new Set([
  'total_return',
  'annualised_return',
  'volatility',
  'max_drawdown',
  'tracking_error',
  'tracking_difference',
  'turnover',
]);

/**
 * Formats a figure. A fraction becomes a percentage, another metric has two decimals, and a missing value is a dash.
 */
export function formatMetricCell(name: string, value: number | null): string {
  if (value === null) return '-';
  return FRACTION_METRICS.has(name) ? formatPercentCell(value) : formatTwoDecimals(value);
}

/** Lists members of a result, one per row. */
export function formatMembers<R extends object>(result: R, names: readonly (keyof R & string)[]): string {
  return formatTable(
    names.map((name) => {
      const value = result[name];
      return [
        name,
        typeof value === 'number' && FRACTION_METRICS.has(name) ? formatPercentCell(value) : String(value ?? '-'),
      ];
    }),
  );
}

export const BENCHMARK_FLAG = {
  benchmark: {
    value: 'NAME',
    help: 'index:ID, or identifier:ID for a security or series of the store. An id without a prefix is an index if one exists, else an identifier.',
  },
} as const;

/** Flags that limit a backtest to the data that was known at a given time. */
export const AS_KNOWN_FLAGS = {
  'as-known-on': { value: 'WHEN', help: 'Use the data known at a version, a date (its end, in UTC) or a time.' },
  'as-known-at-decisions': {
    type: 'boolean',
    help: 'Decide each rebalance with the data known at the end of its decision date.',
  },
} as const;

/** Returns the request members of the `AS_KNOWN_FLAGS` flags. */
export function readAsKnownOn(flags: FlagValues): {
  readonly as_known_on?: string | number;
  readonly as_known?: 'decision';
} {
  const knownOn = flags.text('as-known-on');
  return {
    ...(knownOn === undefined ? {} : { as_known_on: /^\d+$/.test(knownOn) ? Number(knownOn) : knownOn }),
    ...(flags.isSet('as-known-at-decisions') ? { as_known: 'decision' } : {}),
  };
}

export const JOB_FLAGS = {
  callback: { value: 'URL', help: 'URL that the service notifies when the job ends.' },
  priority: {
    value: 'PRIORITY',
    help: 'high starts before all normal jobs and requires the scope admin; low starts after them. Default: normal.',
    choices: JOB_PRIORITIES,
  },
} as const;

export const readJobQuery = (flags: FlagValues) => ({
  callback: flags.text('callback'),
  priority: flags.text<JobPriority>('priority'),
});

/** Flag with which a command fails at certain data warnings, so that a script can stop. */
export const FAIL_ON_FLAGS = {
  'fail-on': {
    value: 'CODES',
    help: 'Exit with 3 if a finding has one of these codes, separated by commas: PARTIAL_DATE.',
  },
} as const;

/** Parses the codes in `--fail-on`. @throws UsageError for an unknown code */
export function parseFailingCodes(flags: FlagValues): readonly FindingCode[] {
  const codes = flags.text('fail-on')?.split(',') ?? [];
  return codes.map((word) => {
    const text = word.trim();
    const code = FINDING_CODES.find((findingCode) => findingCode === text);
    if (code === undefined)
      throw new UsageError(
        `--fail-on: no finding has the code ${text}.${suggestName(text, FINDING_CODES) || ' See the guide page on codes, for example PARTIAL_DATE.'}`,
      );
    return code;
  });
}

/** Returns the exit status of a completed command. It depends on whether `--fail-on` contains the code of a finding. */
export function computeFindingsStatus(findings: readonly { readonly code: string }[], flags: FlagValues): number {
  const codes = parseFailingCodes(flags);
  return findings.some(({ code }) => codes.some((failingCode) => failingCode === code)) ? EXIT.found : EXIT.done;
}

/** Value of a cell. */
type Scalar = string | number | boolean | null;

/** Rows of a result. */
interface Rows<R> {
  /** Returns the records of the result, one per row. */
  records(result: R, flags: FlagValues): readonly object[];
  /** Members to show, in order. Default: all members with scalar values. */
  readonly columns?: readonly string[] | undefined;
}

interface View<R>
  extends
    Rows<R>,
    Pick<JobCommand<R>, 'summary' | 'notes' | 'examples' | 'words' | 'flags' | 'notices' | 'exitStatus'> {
  ask(client: DivisorClient, words: readonly string[], flags: FlagValues): Promise<R>;
}

/**
 * Returns a command that shows a result of the service as a table. On a terminal the table is aligned; on a pipe, each
 * row is a JSON object or a CSV record.
 */
export function createViewCommand<R>({ ask, records, columns, ...command }: View<R>): JobCommand<R> {
  return {
    ...command,
    submit: async (client, words, flags) => ({ result: await ask(client, words, flags) }) satisfies JobSubmission<R>,
    ...showRows({ records, columns, notices: command.notices }),
  };
}

/** Returns a command that sends its words and flags to an operation, and shows the result as a table. */
export const createOperationView = <K extends OperationId>({
  records,
  columns,
  ...command
}: OfOperation<K> &
  Rows<Outcome<K>> &
  Omit<JobCommand<Outcome<K>>, 'submit' | 'operation' | 'show' | 'lines' | 'csv'>): JobCommand<Outcome<K>> =>
  createOperationCommand<K>({
    ...command,
    ...showRows({ records, columns, notices: command.notices }),
  } as OfOperation<K> & JobCommand<Outcome<K>>);

function showRows<R>({
  records,
  columns,
  notices,
}: Rows<R> & { readonly notices: JobCommand<R>['notices'] | undefined }) {
  const getRows = (result: R, flags: FlagValues) => createTable(records(result, flags), columns);
  return {
    show(result: R, flags: FlagValues) {
      const { header, rows } = getRows(result, flags);
      const noticesText = (notices?.(result) ?? []).map((notice) => `${notice}\n`).join('');
      return `${rows.length === 0 ? '  none\n' : formatTable([header, ...rows.map((row) => row.map(formatCell))])}${noticesText}`;
    },
    lines(result: R, flags: FlagValues) {
      const shown = records(result, flags);
      return { event: 'row', records: shown, rest: { rows: shown.length } };
    },
    csv: getRows,
  };
}

/** Converts records to a table of their members with scalar values. */
function createTable(
  records: readonly object[],
  columns: readonly string[] | undefined,
): { readonly header: readonly string[]; readonly rows: readonly (readonly Scalar[])[] } {
  const isScalar = (value: unknown) => value === null || typeof value !== 'object';
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const header =
    columns ?? names.filter((name) => records.every((record) => isScalar((record as Record<string, unknown>)[name])));
  const getValue = (record: object, name: string) => ((record as Record<string, unknown>)[name] ?? null) as Scalar; // a scalar as checked above, or a chosen column
  return { header, rows: records.map((record) => header.map((name) => getValue(record, name))) };
}

/** Maximum number of digits for a person. */
const DIGITS = 6;

function formatCell(value: Scalar) {
  if (typeof value === 'number')
    return alignRight(Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(DIGITS))));
  return value === null || value === undefined ? '-' : String(value).replaceAll(/\s+/g, ' ');
}
