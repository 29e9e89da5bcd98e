import { existsSync } from 'node:fs';
import { nearestName } from '#domain/nearest-name.js';
import { DECLARED, INNER, KEEPS, type VariableName } from './declared-variables.js';

/** EX_USAGE of sysexits.h. */
export const EXIT_USAGE = 64;

/** Ends the process as a wrong command line does. */
export function refuse(sentence: string): never {
  console.error(sentence);
  process.exit(EXIT_USAGE);
}

/**
 * What is wrong with the names of an environment: a variable that begins as those of a bench do and is none of them;
 * undefined where there is no such.
 */
export function unknownVariable(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const known = [...DECLARED.keys()];
  const prefixes = new Set(known.flatMap((name) => /^[A-Z]+_/.exec(name)?.[0] ?? []));
  const begins = (name: string): string | undefined => [...prefixes].find((prefix) => name.startsWith(prefix));
  const unknown = Object.keys(environment).find(
    (name) => begins(name) !== undefined && !DECLARED.has(name) && !INNER.includes(name),
  );
  if (unknown === undefined) return undefined;
  const nearest = nearestName(unknown, known);
  const question = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  const alike = known.filter((name) => name.startsWith(begins(unknown)!));
  return `no benchmark reads the variable ${unknown}; known are ${alike.join(', ')}.${question}`;
}

/** A whole number that the environment may give; what is none, too small or between steps ends the process with a sentence. */
export function numberFrom(variable: VariableName): number {
  const text = process.env[variable];
  if (text === undefined) return Number(defaultOf(variable));
  const { least = 1, step = 1 } = DECLARED.get(variable)!;
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < least || value % step !== 0)
    refuse(
      `${variable} is "${text}"; it must be a ${step === 1 ? 'whole number' : `multiple of ${step}`} of at least ${least}`,
    );
  return value;
}

/** Words that the environment may name, between commas; all of them unless it does. One that is unknown ends the process. */
export function wordsFrom<Word extends string>(variable: VariableName, known: readonly Word[]): readonly Word[] {
  const wanted = process.env[variable]?.split(',').map((word) => word.trim());
  const unknown = wanted?.filter((word) => !(known as readonly string[]).includes(word)) ?? [];
  if (unknown.length > 0) refuse(`${variable} names ${unknown.join(', ')}; known are ${known.join(', ')}`);
  return known.filter((word) => wanted?.includes(word) !== false);
}

/** A list that the environment may give, between commas. One that is not of that shape ends the process. */
export function listFrom(variable: VariableName, shape: RegExp): readonly string[] {
  const otherwise = String(defaultOf(variable));
  const given = (process.env[variable] ?? otherwise).split(',').map((word) => word.trim());
  const wrong = given.filter((word) => !shape.test(word));
  if (wrong.length > 0) refuse(`${variable} names ${wrong.join(', ')}; a list looks like ${otherwise}`);
  return given;
}

/** A text that the environment may give, undefined where neither it nor its declaration does. */
export function textFrom(variable: VariableName): string | undefined {
  return process.env[variable] ?? (String(defaultOf(variable)) || undefined);
}

/** A folder that the environment may name; one that is not there ends the process with a sentence. */
export function folderFrom(variable: VariableName): string | undefined {
  const folder = textFrom(variable);
  if (folder !== undefined && !existsSync(folder)) refuse(`${variable} is "${folder}", which is not there`);
  return folder;
}

/** One of a few words, or its declared default. */
export function wordFrom(variable: VariableName, known: readonly string[]): string | undefined {
  const word = textFrom(variable);
  if (word !== undefined && !known.includes(word)) refuse(`${variable} is "${word}"; known are ${known.join(', ')}`);
  return word;
}

/** Whether results are to be kept in `bench/results`: `--json`. */
export function isKept(): boolean {
  return process.env[KEEPS] === 'on';
}

/** That of the bench that runs, where benches have several. */
function defaultOf(variable: VariableName): number | string {
  const defaults = Object.entries(DECLARED.get(variable)!.of);
  const [, otherwise] = defaults.find(([word]) => process.argv[1]?.includes(word)) ?? defaults[0]!;
  return otherwise;
}
