import { extname } from 'node:path';
import type { AnyJob, DivisorClient } from '#clients/typescript/divisor.js';
import { readCommandLine, type FlagValues, type Grammar } from './command-line.js';
import { runWithService, CONNECTION_HELP, EXIT } from './connection.js';
import { createJobScreen, type JobScreen } from './job-screen.js';
import { onStopRequest } from './stop-request.js';
import { formatTable } from './terminal.js';
import { UsageError } from './usage-error.js';
import { writeWhole } from './write-whole.js';

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
  lines?(result: R): { readonly event: string; readonly records: readonly object[]; readonly rest: object };
  /** Returns the records of the result as a table, for `--csv`. */
  csv?(result: R): { readonly header: readonly string[]; readonly rows: readonly (readonly unknown[])[] };
  /**
   * Returns notices in addition to the result. If standard output is a pipe, each is a line on standard error. For a
   * person, `show` includes them.
   */
  notices?(result: R): readonly string[];
  /** Returns the exit status of the command. If absent, the status is `done`. */
  exitStatus?(result: R, flags: FlagValues): number;
  /** True if a home that the command opens is served with its stored data, without reading its source again. */
  readonly keepsServed?: true;
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
  readonly flags: FlagValues;
}

export type JobSubmission<R> = { readonly job: AnyJob & { readonly result: R | null } } | { readonly result: R };

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
      const text = formatCsv(command.csv!(result)); // a command accepts --csv only if it can write CSV
      if (common.out === undefined) process.stdout.write(text);
      else await writeWhole(common.out, [Buffer.from(text)]);
      return status;
    }
    if (common.out !== undefined) {
      const content = command.file?.(client, result, { out: common.out, flags });
      const isStream = content !== undefined && Symbol.asyncIterator in content;
      const chunks = isStream ? content : [(await content) ?? Buffer.from(`${JSON.stringify(result)}\n`)];
      await writeWhole(common.out, chunks);
    }
    screen.done(common.out);
    if (!screen.asJson) process.stdout.write(command.show(result, flags));
    else if (common.out !== undefined) screen.line({ event: 'result', out: common.out });
    else printLines(screen, command.lines?.(result) ?? { event: '', records: [], rest: result as object });
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
  const wordNames = command.words.map((word) => word.name).join(' ');
  const flags = Object.entries(command.flags).map(([flag, { value, help }]) => [
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
    ...(command.words.length === 0 ? [] : [formatTable(command.words.map((word) => [word.name, word.help]))]),
    ...(command.notes === undefined ? [] : [`${command.notes}\n`]),
    `Flags\n${formatTable([...flags, ...commonRows])}`,
    `Examples\n${formatTable(command.examples.map((example) => [example]))}`,
    `Exit statuses\n${formatTable(EXIT_STATUSES.filter(([status]) => status !== '3' || 'fail-on' in command.flags))}`,
  ].join('\n');
}
