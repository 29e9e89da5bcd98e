/** EX_USAGE of sysexits.h. */
export const EXIT_USAGE = 64;

/** Ends the process as a wrong command line does. */
export function refuse(sentence: string): never {
  console.error(sentence);
  process.exit(EXIT_USAGE);
}

interface Range {
  /** Without the variable. */
  readonly otherwise: number;
  /** 1 unless given. */
  readonly least?: number;
}

/** A whole number that the environment may give; what is none, or too small, ends the process with a sentence. */
export function numberFrom(variable: string, { otherwise, least = 1 }: Range): number {
  const text = process.env[variable];
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < least)
    refuse(`${variable} is "${text}"; it must be a whole number of at least ${least}`);
  return value;
}

/** Words that the environment may name, between commas; all of them unless it does. One that is unknown ends the process. */
export function wordsFrom<Word extends string>(variable: string, known: readonly Word[]): readonly Word[] {
  const wanted = process.env[variable]?.split(',').map((word) => word.trim());
  const unknown = wanted?.filter((word) => !(known as readonly string[]).includes(word)) ?? [];
  if (unknown.length > 0) refuse(`${variable} names ${unknown.join(', ')}; known are ${known.join(', ')}`);
  return known.filter((word) => wanted?.includes(word) !== false);
}

interface Shape {
  readonly shape: RegExp;
  /** Without the variable. */
  readonly otherwise: readonly string[];
}

/** A list that the environment may give, between commas. One that is not of that shape ends the process. */
export function listFrom(variable: string, { shape, otherwise }: Shape): readonly string[] {
  const given = process.env[variable]?.split(',').map((word) => word.trim()) ?? otherwise;
  const wrong = given.filter((word) => !shape.test(word));
  if (wrong.length > 0) refuse(`${variable} names ${wrong.join(', ')}; a list looks like ${otherwise.join(',')}`);
  return given;
}
