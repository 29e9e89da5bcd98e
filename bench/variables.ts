import { existsSync } from 'node:fs';
import { findNearestName } from '#base/nearest-name.js';
import { SPARE_WAIT_MS } from '#market/serve/process-pool.js';

export interface VariableDeclaration {
  /** Default values. Each key is a part of the path of a bench that reads the variable; '' means no value. */
  readonly of: Readonly<Record<string, number | string>>;
  /** Smallest number that is accepted. Default: 1. */
  readonly least?: number;
  readonly step?: number;
}

/** Time in ms after a start until its background work has ended. */
export const SETTLED_MS = 3000;

/** Constituents of the smallest index in the bench of many indices. */
export const FEWEST_NAMES = 20;

/** Number of different holding counts in a sweep. Each cap of the grid is combined with every count. */
export const SWEEP_COUNTS = 20;

const TAILS = 'optimisation/tails';
const PAIRS = 'optimisation/class-pairs';
const MAROS = 'optimisation/maros-meszaros';
const LOAD = 'distributed/load';

/** Variables of all benches; `npm run bench -- --help` prints them. */
export const VARIABLES = {
  BENCH_PEERS: {
    of: { 'http/peers': '', 'optimisation/peers': '', 'workers/estimate-risk-model': '' },
  },
  BENCH_MAROS: { of: { [MAROS]: '' } },
  BENCH_PYTHON: { of: { [TAILS]: 'python3', [MAROS]: 'python3', 'lots/accounts': 'python3' } },
  HOSTILE_SECONDS: { of: { 'http/hostile-reader': 300 }, least: 10 },
  LOAD_SECONDS: { of: { [LOAD]: 15 } },
  LOAD_JOBS_PER_MINUTE: { of: { [LOAD]: 10_000 } },
  LOAD_WORKERS: { of: { [LOAD]: 300 } },
  LOAD_OLD_JOBS: { of: { [LOAD]: 100_000 }, least: 0 },
  LOAD_WORK_MS: { of: { [LOAD]: 500 }, least: 0 },
  LOAD_PROCESSES: { of: { [LOAD]: 4 } },
  LOAD_LISTENERS: { of: { [LOAD]: 'on' } },
  LOAD_PARTS: { of: { [LOAD]: 2000 }, least: 0 },
  MANY_INDICES: { of: { 'http/many-indices': 1000 } },
  MANY_NAMES: { of: { 'http/many-indices': 500 }, least: FEWEST_NAMES + 1 },
  PAIRS_NAMES: { of: { [PAIRS]: 500 } },
  PAIRS_CLASSES: { of: { [PAIRS]: '' } },
  PAIRS_WITH: { of: { [PAIRS]: '' } },
  PAIRS_PART: { of: { [PAIRS]: '1/1' } },
  PAIRS_SECONDS: { of: { [PAIRS]: Infinity } },
  PAIRS_RESULTS: { of: { [PAIRS]: '' } },
  PAIRS_AGAIN: { of: { [PAIRS]: '' } },
  PEERS: { of: { [TAILS]: '' } },
  PEER_SECONDS: { of: { [TAILS]: 60 } },
  /** 0 selects the default number of workers of the service */
  PEERS_WORKERS: { of: { 'http/peers': 0 }, least: 0 },
  ROUNDS: { of: { [TAILS]: 3 } },
  SIZES: {
    of: { [TAILS]: '134x1000,334x2000,500x5000,134x500d,500x504ds,500x100000' },
  },
  STARVED_CHECKOUT: { of: { 'http/starved': '' } },
  START_TURNS: { of: { 'cli/start': 7 } },
  START_IDLE_MS: { of: { 'cli/start': SPARE_WAIT_MS + SETTLED_MS }, least: 0 },
  TRACING_ROUNDS: { of: { 'http/tracing': 60 }, least: 20 },
  TRACING_STARTS: { of: { 'http/tracing': 3 } },
  SWEEP_VARIANTS: { of: { 'workers/sweep': 1000 }, least: SWEEP_COUNTS, step: SWEEP_COUNTS },
} as const satisfies Readonly<Record<string, VariableDeclaration>>;

export type VariableName = keyof typeof VARIABLES;

export const DECLARED: ReadonlyMap<string, VariableDeclaration> = new Map(Object.entries(VARIABLES));

/** Variables that benches pass to their child processes. */
export const INNER_VARIABLES = ['BARE_BODY', 'BARE_HEADERS'];

/** Returns the variables of a bench by the path of its file, as `NAME=default`. */
export function listVariables(file: string): readonly string[] {
  return [...DECLARED].flatMap(([name, { of }]) =>
    Object.entries(of).flatMap(([word, defaultValue]) =>
      file.includes(word)
        ? [defaultValue === '' ? name : `${name}=${defaultValue === Infinity ? 'all' : defaultValue}`]
        : [],
    ),
  );
}

/** Exit status EX_USAGE of sysexits.h. */
export const EXIT_USAGE = 64;

/** Prints an error message and ends the process with the exit status for a wrong command line. */
export function refuse(sentence: string): never {
  console.error(sentence);
  process.exit(EXIT_USAGE);
}

/**
 * Returns an error message if a variable has a prefix of bench variables but is unknown. Returns undefined if there is
 * none.
 */
export function findUnknownVariable(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const declaredNames = [...DECLARED.keys()];
  const prefixes = new Set(declaredNames.flatMap((name) => /^[A-Z]+_/.exec(name)?.[0] ?? []));
  const findPrefix = (name: string): string | undefined => [...prefixes].find((prefix) => name.startsWith(prefix));
  const unknownName = Object.keys(environment).find(
    (name) => findPrefix(name) !== undefined && !DECLARED.has(name) && !INNER_VARIABLES.includes(name),
  );
  if (unknownName === undefined) return undefined;
  const nearest = findNearestName(unknownName, declaredNames);
  const question = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  const alikeNames = declaredNames.filter((name) => name.startsWith(findPrefix(unknownName)!));
  return `no benchmark reads the variable ${unknownName}; known are ${alikeNames.join(', ')}.${question}`;
}

/**
 * Returns the whole number in an environment variable, or its default. Ends the process with an error message if the
 * value is not a whole number, is too small or is not a multiple of the step.
 */
export function readNumber(variable: VariableName): number {
  const text = process.env[variable];
  if (text === undefined) return Number(getDefault(variable));
  const { least = 1, step = 1 } = DECLARED.get(variable)!;
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < least || value % step !== 0)
    refuse(
      `${variable} is "${text}"; it must be a ${step === 1 ? 'whole number' : `multiple of ${step}`} of at least ${least}`,
    );
  return value;
}

/**
 * Returns the comma-separated words in an environment variable. Default: all known words. An unknown word ends the
 * process.
 */
export function readChoices<Word extends string>(variable: VariableName, accepted: readonly Word[]): readonly Word[] {
  const chosenWords = process.env[variable]?.split(',').map((word) => word.trim());
  const unknownWords = chosenWords?.filter((word) => !(accepted as readonly string[]).includes(word)) ?? [];
  if (unknownWords.length > 0) refuse(`${variable} names ${unknownWords.join(', ')}; known are ${accepted.join(', ')}`);
  return accepted.filter((word) => chosenWords?.includes(word) !== false);
}

/**
 * Returns the comma-separated list in an environment variable, or its default. An entry that does not match the pattern
 * ends the process.
 */
export function listFrom(variable: VariableName, shape: RegExp): readonly string[] {
  const defaultText = String(getDefault(variable));
  const values = (process.env[variable] ?? defaultText).split(',').map((word) => word.trim());
  const wrongValues = values.filter((word) => !shape.test(word));
  if (wrongValues.length > 0) refuse(`${variable} names ${wrongValues.join(', ')}; a list looks like ${defaultText}`);
  return values;
}

/** Returns the text of an environment variable or its default. Returns undefined if it has neither. */
export function readText(variable: VariableName): string | undefined {
  return process.env[variable] ?? (String(getDefault(variable)) || undefined);
}

/** Returns the folder in an environment variable. If the folder is missing, ends the process with an error message. */
export function readFolder(variable: VariableName): string | undefined {
  const folder = readText(variable);
  if (folder !== undefined && !existsSync(folder)) refuse(`${variable} is "${folder}", which is not there`);
  return folder;
}

/** Returns the word of an environment variable, which must be known, or its default. */
export function readChoice(variable: VariableName, accepted: readonly string[]): string | undefined {
  const word = readText(variable);
  if (word !== undefined && !accepted.includes(word))
    refuse(`${variable} is "${word}"; known are ${accepted.join(', ')}`);
  return word;
}

/** Returns the default of a variable for the running bench. */
function getDefault(variable: VariableName): number | string {
  const defaults = Object.entries(DECLARED.get(variable)!.of);
  const [, defaultValue] = defaults.find(([word]) => process.argv[1]?.includes(word)) ?? defaults[0]!;
  return defaultValue;
}

/** Returns the numbers of securities of the command line. Default: the given numbers. */
export function readSizes(defaults: readonly number[]): readonly number[] {
  const sizes = process.argv
    .slice(2)
    .map(Number)
    .filter((size) => size > 0);
  return sizes.length > 0 ? sizes : defaults;
}
