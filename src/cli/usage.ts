import { suggestName } from '#base/nearest-name.js';

/**
 * Names of settings in other programs, by the flag of this service that means the same. Spelling suggestions cannot
 * find them.
 */
const FLAG_SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  '--numerics': ['engine', 'engines', 'kernels', 'blas', 'openblas', 'backend'],
  '--workers': ['threads', 'cores', 'concurrency'],
  '--host': ['bind', 'listen', 'address'],
  '--home': ['data', 'data-dir', 'dir'],
  '--log-level': ['log', 'verbosity', 'loglevel'],
};

/** Returns the flag of this command that an unknown flag probably means. */
export function findIntendedFlag(unknownFlag: string, flags: readonly string[]): string | undefined {
  return flags.find((flag) => FLAG_SYNONYMS[flag]?.includes(unknownFlag.replace(/^--/, '')));
}

/** Returns the first sentence of Node's error about a command line. Its advice on escaping is left out. */
export function readFirstSentence(failure: unknown, flags: readonly string[] = []): string {
  const [line = ''] = String((failure as Error).message).split('\n');
  const flag = /^Option '(--[^' ]+)/.exec(line)?.[1];
  if (flag !== undefined && line.includes("' argument is ambiguous"))
    return `${flag} lacks its value; write a value that begins with a dash as ${flag}=VALUE`;
  const unknownFlag = /^Unknown option '(--[^']+)'/.exec(line)?.[1] ?? '';
  const names = flags.map((name) => `--${name}`);
  const intendedFlag = findIntendedFlag(unknownFlag, names);
  const question = intendedFlag === undefined ? suggestName(unknownFlag, names) : ` Did you mean ${intendedFlag}?`;
  return `${line.split('. To specify')[0]}${question && `.${question}`}`;
}

/** Error for an invalid command line: exit status 64. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
