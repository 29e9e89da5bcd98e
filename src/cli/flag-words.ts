/** Words that other services have for settings, by the flag that is meant here: no misspelling leads there. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  '--numerics': ['engine', 'engines', 'kernels', 'blas', 'backend'],
  '--workers': ['threads', 'cores', 'concurrency'],
  '--host': ['bind', 'listen', 'address'],
  '--home': ['data', 'data-dir', 'dir'],
  '--log-level': ['log', 'verbosity', 'loglevel'],
};

/** The flag that such a word is meant for, of those that a command has. */
export function flagMeant(unknown: string, flags: readonly string[]): string | undefined {
  return flags.find((flag) => WORDS[flag]?.includes(unknown.replace(/^--/, '')));
}
