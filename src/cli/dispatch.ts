import { maskUrlPasswords, removeUrlPassword } from '#base/addresses.js';
import { suggestName } from '#base/nearest-name.js';
import { ACCOUNT_COMMANDS, RUN_COMMANDS, OPTIMISATION_COMMANDS } from './commands/runs.js';
import { REPORT_COMMANDS, VIEW_COMMANDS, ANALYSIS_COMMANDS } from './commands/analytics.js';
import {
  STORE_COMMANDS,
  WATCHLIST_COMMANDS,
  DATA_COMMANDS,
  ACTION_COMMANDS,
  OVERRIDE_COMMANDS,
} from './commands/data.js';
import { DOCUMENT_COMMANDS } from './commands/documents.js';
import { APPROVAL_COMMANDS, PROCEDURE_COMMANDS } from './commands/governance.js';
import { IMPORT_COMMANDS } from './commands/import.js';
import { INDEX_COMMANDS, PLUGIN_COMMANDS, STRATEGY_COMMANDS } from './commands/indices.js';
import { SCHEDULE_COMMANDS, PUBLISH_COMMANDS, PUBLICATION_COMMANDS } from './commands/publication.js';
import { RISK_COMMANDS } from './commands/risk-models.js';
import type { WordCompletion, Completions } from './commands/completion.js';
import { formatJobCommandHelp, type JobCommand, runJobCommand } from './commands/job-command.js';

/** Command with its summary and its code. The code is loaded when the command runs. */
interface Command {
  readonly summary: string;
  /** Returns the text of `--help`. If absent, the help lists the settings of the service. */
  readonly help?: () => Promise<string>;
  readonly run: (argv: readonly string[], environment: NodeJS.ProcessEnv) => Promise<number>;
}

/**
 * Commands that work on a service or a home, by name. A name of two words belongs to a family of commands. Each has its
 * own type of result.
 */
export const SERVICE_COMMANDS: Readonly<Record<string, JobCommand<unknown>>> = {
  ...IMPORT_COMMANDS,
  ...RUN_COMMANDS,
  ...ACCOUNT_COMMANDS,
  ...OPTIMISATION_COMMANDS,
  ...RISK_COMMANDS,
  ...REPORT_COMMANDS,
  ...STORE_COMMANDS,
  ...INDEX_COMMANDS,
  ...DOCUMENT_COMMANDS,
  ...VIEW_COMMANDS,
  ...WATCHLIST_COMMANDS,
  ...PLUGIN_COMMANDS,
  ...ANALYSIS_COMMANDS,
  ...DATA_COMMANDS,
  ...STRATEGY_COMMANDS,
  ...SCHEDULE_COMMANDS,
  ...ACTION_COMMANDS,
  ...APPROVAL_COMMANDS,
  ...PUBLISH_COMMANDS,
  ...OVERRIDE_COMMANDS,
  ...PROCEDURE_COMMANDS,
  ...PUBLICATION_COMMANDS,
};

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    summary: 'Run the service until it is stopped.',
    run: async (argv, environment) => (await import('./commands/serve.js')).serve(argv, environment),
  },
  worker: {
    summary: 'Run heavy jobs for the services of a database until it is stopped.',
    run: async (argv, environment) => (await import('./commands/serve.js')).runWorker(argv, environment),
  },
  config: {
    summary: 'Show every setting, its value and the source of that value.',
    run: async (argv, environment) => (await import('./settings/settings.js')).printConfig(argv, environment),
  },
  keys: {
    summary: 'Create, list and revoke API keys.',
    help: async () => (await import('./commands/keys.js')).KEYS_HELP,
    run: async (argv, environment) => (await import('./commands/keys.js')).runKeys(argv, environment),
  },
  backup: {
    summary: 'Copy a home, even while a service runs on it.',
    help: async () => (await import('./commands/home.js')).BACKUP_HELP,
    run: async (argv, environment) => (await import('./commands/home.js')).backUp(argv, environment),
  },
  restore: {
    summary: 'Replace a home by a backup.',
    help: async () => (await import('./commands/home.js')).RESTORE_HELP,
    run: async (argv, environment) => (await import('./commands/home.js')).restore(argv, environment),
  },
  verify: {
    summary: 'Verify the checksums of a home or a backup.',
    help: async () => (await import('./commands/home.js')).VERIFY_HELP,
    run: async (argv, environment) => (await import('./commands/home.js')).verify(argv, environment),
  },
  'verify-published': {
    summary: 'Verify the hash chain and the signatures of a published log.',
    help: async () => (await import('./commands/logs.js')).VERIFY_PUBLISHED_HELP,
    run: async (argv) => (await import('./commands/logs.js')).verifyPublished(argv),
  },
  'verify-batch': {
    summary: 'Verify the results of a batch of accounts without the solver.',
    help: async () => (await import('./commands/batch-files.js')).VERIFY_BATCH_HELP,
    run: async (argv) => (await import('./commands/batch-files.js')).verifyBatch(argv),
  },
  'verify-bundle': {
    summary: 'Recompute the published closes of a bundle from its inputs.',
    help: async () => (await import('./commands/logs.js')).VERIFY_BUNDLE_HELP,
    run: async (argv) => (await import('./commands/logs.js')).verifyBundleFile(argv),
  },
  audit: {
    summary: 'Export or check the audit log; list the data warnings of a data store.',
    help: async () => (await import('./commands/logs.js')).AUDIT_HELP,
    run: async (argv, environment) => (await import('./commands/logs.js')).audit(argv, environment),
  },
  published: {
    summary: 'Write the published log of an index for verify-published.',
    help: async () => (await import('./commands/logs.js')).PUBLISHED_HELP,
    run: async (argv, environment) => (await import('./commands/logs.js')).publish(argv, environment),
  },
  bundle: {
    summary: 'Write all inputs of the published closes of an index for verify-bundle.',
    help: async () => (await import('./commands/logs.js')).BUNDLE_HELP,
    run: async (argv, environment) => (await import('./commands/logs.js')).runBundle(argv, environment),
  },
  migrate: {
    summary: 'Migrate a database, or the documents of earlier releases in a home, to this version.',
    help: async () => (await import('./commands/home.js')).MIGRATE_HELP,
    run: async (argv, environment) => (await import('./commands/home.js')).runMigration(argv, environment),
  },
  nodes: {
    summary: 'List the processes that use a database.',
    help: async () => (await import('./commands/home.js')).NODES_HELP,
    run: async (argv, environment) => (await import('./commands/home.js')).runNodes(argv, environment),
  },
  copy: {
    summary: 'Copy the documents of a home into a database, or back.',
    help: async () => (await import('./commands/home.js')).COPY_HELP,
    run: async (argv, environment) => (await import('./commands/home.js')).copy(argv, environment),
  },
  adopt: {
    summary: 'Set which database owns a results storage.',
    help: async () => (await import('./commands/home.js')).ADOPT_HELP,
    run: async (argv, environment) => (await import('./commands/home.js')).adopt(argv, environment),
  },
  doctor: {
    summary: 'Check if a service can run on this machine and home.',
    help: async () => (await import('./commands/doctor.js')).DOCTOR_HELP,
    run: async (argv, environment) => (await import('./commands/doctor.js')).runDoctor(argv, environment),
  },
  calendars: {
    summary: 'List the exchange calendars, or compare them with a reference.',
    help: async () => (await import('./commands/calendars.js')).CALENDARS_HELP,
    run: async (argv) => (await import('./commands/calendars.js')).runCalendars(argv),
  },
  export: {
    summary: 'Write a table of a run as a file: CSV, Excel, Parquet, Arrow or JSON.',
    help: async () => (await import('./commands/export.js')).EXPORT_HELP,
    run: async (argv, environment) => (await import('./commands/export.js')).exportTable(argv, environment),
  },
  sql: {
    summary: 'Query runs, prices and reference data by SQL, once or in a shell.',
    help: async () => (await import('./commands/sql.js')).SQL_HELP,
    run: async (argv, environment) => (await import('./commands/sql.js')).runSql(argv, environment),
  },
  mcp: {
    summary: 'Serve the tools of a service to an agent over standard input and output.',
    help: async () => (await import('./commands/mcp.js')).MCP_HELP,
    run: async (argv, environment) => (await import('./commands/mcp.js')).runMcp(argv, environment),
  },
  completion: {
    summary: 'Print a script that makes bash, zsh or fish complete commands, flags and values.',
    help: async () => (await import('./commands/completion.js')).COMPLETION_HELP,
    run: async (argv, environment) =>
      argv[0] === 'ids'
        ? (await import('./commands/stored-ids.js')).runCompletionIds(argv.slice(1), environment)
        : (await import('./commands/completion.js')).runCompletion(argv, await listCompletions()),
  },
  demo: {
    summary: 'Demonstrate the main tasks on a generated market, and continue to serve it.',
    help: async () => (await import('./commands/demo.js')).DEMO_HELP,
    run: async (argv, environment) => (await import('./commands/demo.js')).runDemo(argv, environment),
  },
  bench: {
    summary: 'Measure the speed of this machine or of a running service.',
    help: async () => (await import('./bench/bench.js')).BENCH_HELP,
    run: async (argv, environment) => (await import('./bench/bench.js')).bench(argv, environment),
  },
  ...Object.fromEntries(
    Object.entries(SERVICE_COMMANDS).map(([name, command]): [string, Command] => [
      name,
      {
        summary: command.summary,
        help: () => Promise.resolve(formatJobCommandHelp(name, command)),
        run: async (argv, environment) =>
          name === 'batch' && argv[0] === 'template'
            ? (await import('./commands/batch-files.js')).runBatchTemplate(argv.slice(1))
            : runJobCommand(name, command, argv, environment),
      },
    ]),
  ),
};

/** EX_USAGE and EX_SOFTWARE of sysexits.h. */
const EXIT_USAGE = 64;
const EXIT_DEFECT = 70;
/** Exit status that a shell reports for a program whose output pipe was closed by its reader. */
const EXIT_PIPE = 141;

/** Runs the command that the words name. Resolves with the exit status. Reports a failure in one sentence. */
export async function dispatch(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [first, ...others] = argv;
  const familyNames =
    first === undefined ? [] : Object.keys(COMMANDS).filter((commandName) => commandName.startsWith(`${first} `));
  const isOfFamily = familyNames.length > 0 && others[0] !== undefined && !others[0].startsWith('-');
  const isCommand = first !== undefined && Object.hasOwn(COMMANDS, first);
  const name = isOfFamily ? `${first} ${others[0]}` : first;
  const remainingWords = isOfFamily ? others.slice(1) : others;
  if (familyNames.length > 0 && !isOfFamily && !isCommand) return print(formatHelp(familyNames));
  if (name === undefined || name === '--help' || name === '-h' || name === 'help')
    return print(formatHelp(Object.keys(COMMANDS)));
  if (name === '--version' || name === '-v') return print(await formatVersionLine());
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) return printFailure(EXIT_USAGE, explainUnknownCommand(name));
  const isTemplate = name === 'batch' && remainingWords[0] === 'template';
  if (!isTemplate && (remainingWords.includes('--help') || remainingWords.includes('-h')))
    return print(await formatCommandHelp(name, command));
  hidePasswords(argv);
  exitOnClosedPipe(name);
  try {
    return await command.run(remainingWords, environment);
  } catch (failure) {
    return explain(failure);
  }
}

/** Returns the version of the package. If the build is known, its version is added. */
async function formatVersionLine(): Promise<string> {
  const { readBuildInfo, getBuildVersion } = await import('./version.js');
  const builtAt = readBuildInfo()?.built_at;
  return `${getBuildVersion()}${builtAt === undefined ? '' : ` built ${builtAt}`}\n`;
}

function hidePasswords(argv: readonly string[]): void {
  const maskedWords = argv.map((word) => removeUrlPassword(word));
  if (maskedWords.some((word, i) => word !== argv[i])) process.title = `divisor ${maskedWords.join(' ')}`;
}

/**
 * Ends a command when the reader of its output closes the pipe, as in `divisor verify | head`. A service keeps running.
 */
function exitOnClosedPipe(name: string): void {
  process.stdout.on('error', (failure: NodeJS.ErrnoException) => {
    if (failure.code !== 'EPIPE') throw failure;
    if (name !== 'serve' && name !== 'worker') process.exit(EXIT_PIPE);
  });
}

/**
 * Prints the sentence of a failure and returns its exit status. Prints the stack only if the failure was not expected.
 */
async function explain(failure: unknown): Promise<number> {
  const { EXIT_TEMPORARY, StartRefusal } = await import('#store/start-refusal.js');
  const { UsageError } = await import('./usage.js');
  if (failure instanceof StartRefusal) return printFailure(failure.exitStatus, failure.message);
  if (failure instanceof UsageError) return printFailure(EXIT_USAGE, failure.message);
  // The database or object store was unavailable during the start. The supervisor should try again.
  const { isStoreUnavailable: isUnavailable } = await import('#domain/base/refusals.js');
  if (isUnavailable(failure)) return printFailure(EXIT_TEMPORARY, failure.message);
  return printFailure(EXIT_DEFECT, failure instanceof Error ? (failure.stack ?? failure.message) : String(failure));
}

async function listCompletions(): Promise<Completions> {
  const [{ deriveCompletionFromHelp, deriveCompletion }, { listSettingFlags }, { EXPORT_GRAMMAR }, { AUDIT_GRAMMAR }] =
    await Promise.all([
      import('./commands/completion.js'),
      import('./settings/settings.js'),
      import('./commands/export.js'),
      import('./commands/logs.js'),
    ]);
  const commonFlags = ['url', 'home', 'data-roots', 'out', 'json'] as const;
  const completions: Completions = {
    export: deriveCompletion(EXPORT_GRAMMAR, commonFlags),
    audit: deriveCompletion(AUDIT_GRAMMAR, commonFlags),
  };
  const settingFlags = listSettingFlags();
  const listCommandCompletion = async ([name, command]: [string, Command]): Promise<
    readonly [string, WordCompletion]
  > => {
    const request = Object.hasOwn(SERVICE_COMMANDS, name) ? SERVICE_COMMANDS[name] : undefined;
    if (request !== undefined)
      return [name, deriveCompletion(request, [...commonFlags, ...(request.csv ? (['csv'] as const) : [])])];
    return [
      name,
      completions[name] ?? deriveCompletionFromHelp(name, await formatCommandHelp(name, command), settingFlags),
    ];
  };
  return Object.fromEntries(await Promise.all(Object.entries(COMMANDS).map(listCommandCompletion)));
}

function formatHelp(names: readonly string[]): string {
  const width = Math.max(...names.map((name) => name.length));
  const lines = names.map((name) => `  ${name.padEnd(width)}  ${COMMANDS[name]!.summary}\n`);
  return (
    `divisor: index construction and analytics as a service\n\nUsage: divisor <command> [flags]\n\n${lines.join('')}\n` +
    'divisor <command> --help describes the flags of a command; divisor --version prints the version.\n'
  );
}

async function formatCommandHelp(name: string, { summary, help }: Command): Promise<string> {
  if (help !== undefined) return help();
  const { formatSettingsHelp } = await import('./settings/settings.js');
  return `divisor ${name}: ${summary}\n\nSettings. A flag has priority over the environment variable, and both have priority over the default:\n\n${formatSettingsHelp()}`;
}

function explainUnknownCommand(name: string): string {
  const suggestion =
    suggestName(name, Object.keys(COMMANDS)) || ` The commands are ${Object.keys(COMMANDS).join(', ')}.`;
  return `There is no command ${name}.${suggestion}`;
}

function print(text: string): 0 {
  process.stdout.write(text);
  return 0;
}

/**
 * Prints an error. If the sentence repeats words of the command line, passwords in them are removed. @returns the
 * status
 */
function printFailure(status: number, sentence: string): number {
  process.stderr.write(`divisor: ${maskUrlPasswords(sentence)}\n`);
  return status;
}
