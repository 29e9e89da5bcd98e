import { parseArgs } from 'node:util';
import { firstSentence, readSettings } from './settings.js';
import { UsageError } from './usage-error.js';

/** The command line of a command about a home. */
export interface HomeCommand {
  /** Absolute path of the home. */
  readonly home: string;
  readonly words: readonly string[];
  readonly values: { readonly json?: boolean; readonly replace?: boolean; readonly backup?: string };
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
    json: { type: 'boolean' },
  };
  if (flags.includes('replace')) options['replace'] = { type: 'boolean' };
  if (flags.includes('backup')) options['backup'] = { type: 'string' };
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, strict: true, allowPositionals: true });
    if (positionals.length < words[0] || positionals.length > words[1])
      throw new UsageError(`${positionals.length} words were given.\n\n${help}`);
    const { home, ...rest } = values as HomeCommand['values'] & { readonly home?: string };
    const { settings } = readSettings(home === undefined ? [] : ['--home', home], environment);
    return { home: settings.home, words: positionals, values: rest };
  } catch (failure) {
    if (failure instanceof TypeError) throw new UsageError(`${firstSentence(failure)}\n\n${help}`, { cause: failure });
    throw failure;
  }
}
