import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { findNearestName } from '#base/nearest-name.js';
import { OPERATIONS } from '#clients/typescript/contract.js';
import type { OperationId } from '#clients/typescript/divisor.js';
import { readFirstSentence, UsageError } from '../usage.js';
import { CONNECTION_OPTIONS } from './connection.js';

/** One flag of a command: its type and its help text. */
export interface Flag {
  /** Default: a text. */
  readonly type?: 'number' | 'boolean';
  /** Placeholder of the value in the help. */
  readonly value?: string;
  readonly help: string;
  /** Accepted values. Default: any. */
  readonly choices?: readonly string[];
  /** True if the command refuses a line without the flag. */
  readonly isRequired?: true;
  /** True if the text has several values, separated by commas. */
  readonly isList?: true;
  /**
   * Member of the request that the flag sets; null if it changes only the output. Default: the name of the flag, with
   * underscores.
   */
  readonly member?: string | null;
  /** Value of the member if the flag is absent. */
  readonly otherwise?: string | number | boolean | null;
}

/** One word of a command: a parameter in the path of its operation, unless it states something else. */
interface Word {
  readonly name: string;
  readonly help: string;
  /** True if the word accepts several ids, separated by commas. */
  readonly isList?: true;
  /** Accepted values, if known. */
  readonly choices?: readonly string[];
  /** Member of the query or of the body that the word sets. */
  readonly member?: string;
  /** True if the word is the path of a JSON file with the body. */
  readonly isBody?: true;
}

/** Grammar of a command line: required words, and flags. Default: none. */
export interface Grammar {
  readonly words?: readonly Word[];
  readonly flags?: Readonly<Record<string, Flag>>;
}

/** Values of the flags of a command; undefined for a flag that is absent. */
export interface FlagValues {
  /** Returns the text of a flag, which is one of its `choices` if the grammar lists any. */
  text<T extends string = string>(flag: string): T | undefined;
  number(flag: string): number | undefined;
  isSet(flag: string): boolean | undefined;
}

export interface CommandLine {
  readonly words: readonly string[];
  readonly flags: FlagValues;
  /** Flags of every job command. */
  readonly common: {
    readonly url?: string | undefined;
    readonly home?: string | undefined;
    readonly dataRoots?: string | undefined;
    readonly store?: string | undefined;
    readonly sources: boolean;
    readonly out?: string | undefined;
    readonly json: boolean;
    /** Prints records as CSV, in commands that return records. */
    readonly csv: boolean;
  };
}

/** Flags of every command that works on a service or a home. */
export const COMMON_OPTIONS = {
  ...CONNECTION_OPTIONS,
  out: { type: 'string' },
  json: { type: 'boolean', default: false },
  csv: { type: 'boolean', default: false },
} as const;

/** Parses the words and flags of a command. @throws UsageError */
export function readCommandLine(
  name: string,
  { words = [], flags = {} }: Grammar,
  argv: readonly string[],
): CommandLine {
  const { values, positionals } = parseFlags(name, flags, argv);
  if (positionals.length !== words.length) {
    const wordNames = words.length === 0 ? 'no words' : words.map((word) => word.name).join(' ');
    throw new UsageError(
      `divisor ${name} takes ${wordNames}; ${positionals.length === 1 ? '1 word was' : `${positionals.length} words were`} given.${words.length === 1 && words[0]!.isList && positionals.length > 1 ? ` Several ids are one word: ${positionals.join(',')}.` : ''} See divisor ${name} --help`,
    );
  }
  for (const [flag, { type, choices, isRequired }] of Object.entries(flags)) {
    const value = values[flag];
    if (value === undefined && isRequired) throw new UsageError(`divisor ${name} requires --${flag}`);
    if (value === undefined) continue;
    if (type === 'number') parseNumber(flag, String(value));
    if (choices?.includes(String(value)) === false)
      throw new UsageError(`--${flag} must be one of ${choices.join(', ')}, not ${JSON.stringify(value)}`);
  }
  const findText = (key: string) => values[key] as string | undefined; // parseArgs returns a string for each flag of type string
  return {
    words: positionals,
    flags: {
      text: <T extends string>(flag: string) => findText(flag) as T | undefined,
      number: (flag) => (values[flag] === undefined ? undefined : Number(values[flag])),
      isSet: (flag) => (values[flag] === undefined ? undefined : values[flag] === true),
    },
    common: {
      url: findText('url'),
      home: findText('home'),
      dataRoots: findText('data-roots'),
      store: findText('store'),
      sources: values['sources'] === true,
      out: findText('out'),
      json: values['json'] === true,
      csv: values['csv'] === true,
    },
  };
}

/** Flags that are members of the query, also if the operation has a body. */
const QUERY_FLAGS: readonly string[] = ['callback', 'priority'];

/** Request of an operation, without the types of the operation. */
export interface DerivedRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly note?: string | undefined;
}

/** Returns the request of an operation that the words and flags of a command line state. */
export async function deriveRequest(
  operation: OperationId,
  { fixed = {}, ...grammar }: Grammar & { readonly fixed?: Readonly<Record<string, unknown>> },
  { words, flags }: Pick<CommandLine, 'words' | 'flags'>,
): Promise<DerivedRequest> {
  const [method, path = ''] = OPERATIONS[operation].split(' ');
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const params: Record<string, string> = {};
  const query: Record<string, unknown> = {};
  let body: Record<string, unknown> | undefined;
  const members = () => (method === 'GET' || method === 'DELETE' ? query : (body ??= {}));
  for (const [k, { member, isList, isBody }] of (grammar.words ?? []).entries()) {
    const text = words[k] ?? '';
    if (isBody === true) body = await readJsonFile<Record<string, unknown>>(text);
    else if (member !== undefined) members()[member] = isList === true ? text.split(',') : text;
    else params[parameters.shift() ?? ''] = text;
  }
  for (const [flag, { member = flag.replaceAll('-', '_'), ...form }] of Object.entries(grammar.flags ?? {})) {
    if (member === null || flag === 'note') continue;
    const target = QUERY_FLAGS.includes(flag) ? query : members();
    const value = readFlag(flag, form, flags) ?? form.otherwise;
    if (value !== undefined) target[member] = value;
  }
  for (const [member, value] of Object.entries(fixed)) members()[member] = value;
  return { params, query, body, note: flags.text('note') };
}

function readFlag(flag: string, { type, isList }: Pick<Flag, 'type' | 'isList'>, flags: FlagValues): unknown {
  if (type === 'number') return flags.number(flag);
  if (type === 'boolean') return flags.isSet(flag);
  const text = flags.text(flag);
  return isList === true ? text?.split(',') : text;
}

/** Returns true if a command line has words in addition to flags. @throws UsageError */
export function hasWords(name: string, { flags = {} }: Grammar, argv: readonly string[]): boolean {
  return parseFlags(name, flags, argv).positionals.length > 0;
}

type Flags = NonNullable<Grammar['flags']>;

function parseFlags(
  name: string,
  flags: Flags,
  argv: readonly string[],
): { values: Record<string, string | boolean | undefined>; positionals: string[] } {
  const commandValues = Object.fromEntries(
    Object.entries(flags).map(([flag, { type }]) => [
      flag,
      { type: type === 'boolean' ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  try {
    return parseArgs({
      args: [...argv],
      options: { ...COMMON_OPTIONS, ...commandValues },
      allowPositionals: true,
      strict: true,
    });
  } catch (cause) {
    throw new UsageError(`${readFirstSentence(cause)}.${suggestFlag(cause, flags)} See divisor ${name} --help`, {
      cause,
    });
  }
}

/** Suggests the flag that was probably meant by a misspelt flag. The text is a question. */
function suggestFlag(cause: unknown, flags: Flags): string {
  const unknownFlag = /^Unknown option '--([^']+)'/.exec((cause as Error).message)?.[1];
  const nearestFlag =
    unknownFlag && findNearestName(unknownFlag, [...Object.keys(flags), ...Object.keys(COMMON_OPTIONS)]);
  return nearestFlag ? ` Did you mean --${nearestFlag}?` : '';
}

function parseNumber(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value))
    throw new UsageError(`--${flag} must be a number, not ${JSON.stringify(text)}`);
  return value;
}

/**
 * Parses the JSON file whose path is on the command line, or standard input for `-`. The service validates the content.
 * @throws UsageError if the text is not JSON
 */
export async function readJsonFile<T>(path: string): Promise<T> {
  try {
    return JSON.parse(path === '-' ? await readStandardInput() : await readFile(path, 'utf8')) as T;
  } catch (cause) {
    throw new UsageError(
      `${path === '-' ? 'Standard input' : path} cannot be read as JSON: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** Reads a text file whose path is on the command line, or standard input for `-`. @throws UsageError */
export async function readTextFile(path: string): Promise<string> {
  try {
    return path === '-' ? await readStandardInput() : await readFile(path, 'utf8');
  } catch (cause) {
    throw new UsageError(`${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
