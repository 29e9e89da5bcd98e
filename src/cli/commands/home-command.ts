import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { readSettings, type Settings } from '../settings/settings.js';
import { formatTable, openScreen, type TerminalCell } from '../terminal.js';
import { readFirstSentence, UsageError } from '../usage.js';

/** Parsed command line of a command on a home. */
export interface HomeCommand {
  /** Absolute path of the home. */
  readonly home: string;
  /** Address of the database, if the documents are not in the home. */
  readonly database: string | undefined;
  /** Settings, including the results location. */
  readonly settings: Settings;
  readonly words: readonly string[];
  readonly values: { readonly json?: boolean; readonly replace?: boolean; readonly backup?: string };
}

/** Converts the values of a command to the flags of the settings for locations. */
export function formatLocationFlags(
  locationFlags: Partial<Record<(typeof LOCATION_FLAGS)[number], string | undefined>>,
): string[] {
  return LOCATION_FLAGS.flatMap((name) =>
    locationFlags[name] === undefined ? [] : [`--${name}`, locationFlags[name]],
  );
}

const LOCATION_FLAGS = ['home', 'database', 'artifacts'] as const;

/**
 * Refuses a home on the command line while the environment names locations that several machines share. The command
 * would work on the wrong data. A home together with a database or artifacts is accepted. @throws UsageError
 */
export function assertSingleLocation(
  locationFlags: Partial<Record<(typeof LOCATION_FLAGS)[number], string | undefined>>,
  environment: NodeJS.ProcessEnv,
): void {
  const { home, database, artifacts } = locationFlags;
  if (home === undefined || database !== undefined || artifacts !== undefined || !environment['DATABASE_URL']) return;
  const advice = 'Omit --home, or begin the line with env -u DATABASE_URL -u DIVISOR_ARTIFACTS.';
  if (environment['DIVISOR_ARTIFACTS'])
    throw new UsageError(
      `--home is set, but the environment variables DATABASE_URL and DIVISOR_ARTIFACTS refer to storage that several machines share. ${advice}`,
    );
  if (existsSync(join(home, 'documents', 'data.mdb')))
    throw new UsageError(
      `--home is set to a home with documents, but the environment variable DATABASE_URL refers to a database. ${advice}`,
    );
}

/**
 * Refuses a database without a shared results location. Its results would be in the home of one machine. @throws
 * StartRefusal 78
 */
export function assertTogether({ database, artifacts }: Settings, advice: string): void {
  if (database !== undefined && artifacts === undefined)
    throw new StartRefusal(EXIT_CONFIGURATION, `The documents are in a database, not in the home: ${advice}.`);
}

/** Parses the command line of a command on a home. @throws UsageError with the help of the command */
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
    artifacts: { type: 'string' },
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
    const { home, database, artifacts, ...rest } = values as HomeCommand['values'] &
      Partial<Record<(typeof LOCATION_FLAGS)[number], string>>;
    assertSingleLocation({ home, database, artifacts }, environment);
    const { settings } = readSettings(formatLocationFlags({ home, database, artifacts }), environment);
    return { home: settings.home, database: settings.database, settings, words: positionals, values: rest };
  } catch (failure) {
    if (failure instanceof TypeError)
      throw new UsageError(`${readFirstSentence(failure, Object.keys(options))}\n\n${help}`, { cause: failure });
    throw failure;
  }
}

/** Output of a command on a home. A person gets rows; a program gets one JSON object per line. */
export interface HomeReport<T extends object> {
  readonly asJson: boolean;
  /** Shows the progress of the work. Does nothing if the output is not a terminal. */
  progress(text: string): void;
  /** Prints the rows below a header. For a program, prints each record as a line of JSON. */
  print(records: readonly T[], header: readonly string[], row: (record: T) => readonly (string | TerminalCell)[]): void;
}

export function createHomeReport<T extends object>(json: boolean | undefined): HomeReport<T> {
  const screen = openScreen(process.stdout);
  const isJson = json === true || !screen.isTerminal;
  const clearLine = () => (screen.isTerminal ? screen.write('\r\u001b[2K') : undefined);
  let lastDrawnMs = 0;
  return {
    asJson: isJson,
    progress(text) {
      const now = performance.now();
      if (isJson || now - lastDrawnMs < 100) return;
      lastDrawnMs = now;
      screen.write(`\r\u001b[2K${text.slice(0, screen.columns - 1)}`);
    },
    print(records, header, row) {
      if (isJson) for (const record of records) screen.write(`${JSON.stringify(record)}\n`);
      else {
        clearLine();
        screen.write(formatTable([header, ...records.map(row)], 0));
      }
    },
  };
}
