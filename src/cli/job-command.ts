import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { JobStatus } from '#jobs/status.js';
import type { Client } from './client.js';
import { connected, CONNECTION_HELP, CONNECTION_OPTIONS, EXIT } from './connection.js';
import { UsageError } from './usage-error.js';
import { screenOf, step, table } from './terminal.js';

/** One flag of a command: how it is read, and what it means. */
export interface Flag {
  readonly type: 'string' | 'number' | 'boolean';
  /** Placeholder of its value in the help. */
  readonly value?: string;
  readonly help: string;
  readonly required?: boolean;
}

export type FlagValues = Readonly<Record<string, string | number | boolean | undefined>>;

/** A command that submits one job, follows it, and shows what came of it. */
export interface JobCommand {
  readonly summary: string;
  /** Positional words, all required. */
  readonly words: readonly { readonly name: string; readonly help: string }[];
  readonly flags: Readonly<Record<string, Flag>>;
  /** A worked call or two for the help. */
  readonly examples: readonly string[];
  /** Asks for the work; the status of the job, or the result itself where the service answers at once. */
  submit(client: Client, words: readonly string[], flags: FlagValues): Promise<Submitted>;
  /** The result as rows for a person. */
  rows(result: unknown): readonly (readonly string[])[];
  /** Bytes of the file `--out` names; the result as JSON unless given. */
  file?(client: Client, result: unknown): Promise<Uint8Array>;
}

export type Submitted = { readonly job: JobStatus } | { readonly result: unknown };

const COMMON_OPTIONS = { ...CONNECTION_OPTIONS, out: { type: 'string' }, json: { type: 'boolean', default: false } } as const;

/**
 * Runs a job command. On a terminal progress redraws one line and the result is a table; on a pipe, or with `--json`,
 * every change of progress and the result are one JSON object a line.
 */
export async function runJobCommand(name: string, command: JobCommand, argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { words, flags, common } = readCommandLine(name, command, argv);
  return connected(common, environment, async (client) => {
    const screen = screenOf(process.stdout);
    const asJson = common.json || !screen.isTerminal;
    const line = asJson ? undefined : step(screen, name);
    const submitted = await command.submit(client, words, flags);
    const result = 'result' in submitted ? submitted.result : await client.finish(submitted.job, (job) => {
      if (asJson) process.stdout.write(`${JSON.stringify({ event: 'status', job_id: job.job_id, status: job.status, progress: job.progress, message: job.message })}\n`);
      else line?.progress(job.progress, job.message);
    });
    if (common.out !== undefined) await writeFile(common.out, (await command.file?.(client, result)) ?? `${JSON.stringify(result)}\n`);
    if (asJson) process.stdout.write(`${JSON.stringify({ event: 'result', ...(common.out === undefined ? { result } : { out: common.out }) })}\n`);
    else {
      line?.done(common.out === undefined ? 'done' : `written to ${common.out}`);
      screen.write(table(command.rows(result)));
    }
    return EXIT.done;
  });
}

export function jobCommandHelp(name: string, command: JobCommand): string {
  const words = command.words.map((word) => word.name).join(' ');
  const flags = Object.entries(command.flags).map(([flag, { value, help, required }]) => [`--${flag}${value === undefined ? '' : ` ${value}`}`, `${help}${required === true ? ' Required.' : ''}`]);
  const common = [['--out FILE', 'Write the result to a file.'], ['--json', 'One JSON object a line, as on a pipe.'], ...CONNECTION_HELP.map((row) => [...row])];
  const statuses = [['0', 'done'], ['1', 'the job failed'], ['2', 'the service refused the request'], ['64', 'wrong usage'], ['69', 'nothing answers'], ['75', 'busy or without data: try again'], ['77', 'no permission']];
  return [
    `divisor ${name}: ${command.summary}\n`,
    `Usage: divisor ${name} ${words} [flags]\n`,
    ...command.words.map((word) => `  ${word.name}  ${word.help}`),
    `\nFlags\n${table([...flags, ...common])}`,
    `Examples\n${table(command.examples.map((example) => [example]))}`,
    `Exit statuses\n${table(statuses)}`,
  ].join('\n');
}

interface CommandLine {
  readonly words: readonly string[];
  readonly flags: FlagValues;
  readonly common: { readonly url?: string | undefined; readonly home?: string | undefined; readonly out?: string | undefined; readonly json: boolean };
}

function readCommandLine(name: string, command: JobCommand, argv: readonly string[]): CommandLine {
  const own = Object.fromEntries(Object.entries(command.flags).map(([flag, { type }]) => [flag, { type: type === 'boolean' ? 'boolean' as const : 'string' as const }]));
  let parsed: { values: Record<string, string | boolean | undefined>; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...argv], options: { ...COMMON_OPTIONS, ...own }, allowPositionals: true, strict: true });
  } catch (cause) {
    throw new UsageError(`${(cause as Error).message.split('. To specify')[0]}. See divisor ${name} --help`, { cause });
  }
  const { values, positionals } = parsed;
  if (positionals.length !== command.words.length) {
    throw new UsageError(`divisor ${name} takes ${command.words.map((word) => word.name).join(' ')}; ${positionals.length} words were given`);
  }
  const flags: Record<string, string | number | boolean | undefined> = {};
  for (const [flag, { type, required }] of Object.entries(command.flags)) {
    const value = values[flag];
    if (value === undefined && required === true) throw new UsageError(`divisor ${name} needs --${flag}`);
    flags[flag] = type === 'number' && value !== undefined ? numberOf(flag, String(value)) : value;
  }
  const text = (key: string) => values[key] as string | undefined;
  return { words: positionals, flags, common: { url: text('url'), home: text('home'), out: text('out'), json: values['json'] === true } };
}

function numberOf(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new UsageError(`--${flag} must be a number, not ${JSON.stringify(text)}`);
  return value;
}

/** JSON of a file the command line names. @throws UsageError when it cannot be read as JSON */
export async function jsonFile(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new UsageError(`${path} cannot be read as JSON: ${(cause as Error).message}`, { cause });
  }
}
