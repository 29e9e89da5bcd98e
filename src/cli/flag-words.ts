import { didYouMean } from '#base/text/nearest-name.js';

/** Words that other services have for settings, by the flag that is meant here: no misspelling leads there. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  '--numerics': ['engine', 'engines', 'kernels', 'blas', 'openblas', 'backend'],
  '--workers': ['threads', 'cores', 'concurrency'],
  '--host': ['bind', 'listen', 'address'],
  '--home': ['data', 'data-dir', 'dir'],
  '--log-level': ['log', 'verbosity', 'loglevel'],
};

/** The flag that such a word is meant for, of those that a command has. */
export function flagMeant(unknown: string, flags: readonly string[]): string | undefined {
  return flags.find((flag) => WORDS[flag]?.includes(unknown.replace(/^--/, '')));
}

/** What node says of a command line, without its advice on how to escape. */
export function firstSentence(failure: unknown, flags: readonly string[] = []): string {
  const [line = ''] = String((failure as Error).message).split('\n');
  const flag = /^Option '(--[^' ]+)/.exec(line)?.[1];
  if (flag !== undefined && line.includes("' argument is ambiguous"))
    return `${flag} lacks its value; one that begins with a dash is written ${flag}=VALUE`;
  const unknown = /^Unknown option '(--[^']+)'/.exec(line)?.[1] ?? '';
  const names = flags.map((name) => `--${name}`);
  const meant = flagMeant(unknown, names);
  const question = meant === undefined ? didYouMean(unknown, names) : ` Did you mean ${meant}?`;
  return `${line.split('. To specify')[0]}${question && `.${question}`}`;
}
