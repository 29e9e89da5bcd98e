import { parseArgs } from 'node:util';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { firstSentence, readSettings } from './settings.js';
import { UsageError } from './usage-error.js';

/** The command line of a command about a home. */
export interface HomeCommand {
  /** Absolute path of the home. */
  readonly home: string;
  /** Where its documents are, unless in the home. */
  readonly database: string | undefined;
  readonly words: readonly string[];
  readonly values: { readonly json?: boolean; readonly replace?: boolean; readonly backup?: string };
}

/** Settings that say where things are, as they were given to a command. */
export function placeFlags({ home, database }: { home?: string | undefined; database?: string | undefined }): string[] {
  return [...(home === undefined ? [] : ['--home', home]), ...(database === undefined ? [] : ['--database', database])];
}

/** Refuses what works on homes that hold their documents. @throws StartRefusal 78 */
export function assertHomeHolds(database: string | undefined, instead: string): void {
  if (database !== undefined)
    throw new StartRefusal(EXIT_CONFIGURATION, `The documents are in a database, not in the home: ${instead}.`);
}

/** @throws UsageError with the help of the command */
export function readHomeCommand(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
  {
    words,
    help,
    flags = [],
  }: {
    readonly words: readonly [number, number];
    readonly help: string;
    readonly flags?: readonly ('replace' | 'backup')[];
  },
): HomeCommand {
  const options: Record<string, { readonly type: 'string' | 'boolean' }> = {
    home: { type: 'string' },
    database: { type: 'string' },
    json: { type: 'boolean' },
  };
  if (flags.includes('replace')) options['replace'] = { type: 'boolean' };
  if (flags.includes('backup')) options['backup'] = { type: 'string' };
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, strict: true, allowPositionals: true });
    if (positionals.length < words[0] || positionals.length > words[1]) {
      const [given, needed] = [positionals.length, words[0] === words[1] ? words[0] : `${words[0]} to ${words[1]}`];
      throw new UsageError(`${given} ${given === 1 ? 'word was' : 'words were'} given, ${needed} needed.\n\n${help}`);
    }
    const { home, database, ...rest } = values as HomeCommand['values'] & Partial<Record<'home' | 'database', string>>;
    const { settings } = readSettings(placeFlags({ home, database }), environment);
    return { home: settings.home, database: settings.database, words: positionals, values: rest };
  } catch (failure) {
    if (failure instanceof TypeError) throw new UsageError(`${firstSentence(failure)}\n\n${help}`, { cause: failure });
    throw failure;
  }
}
