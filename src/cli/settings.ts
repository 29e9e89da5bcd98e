import { availableParallelism } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { readFirstSentence } from './flag-words.js';
import { maskUrlPasswords } from '#base/text/url-passwords.js';
import { isLoopbackName } from '#http/authentication.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { APPROVAL_SETTINGS } from './approval-settings.js';
import { AWS_SETTINGS } from './aws-settings.js';
import {
  formatClause,
  databaseUrl,
  declareSetting,
  engineSchema,
  hostPorts,
  keyRecord,
  createListSchema,
  PANEL_MEGABYTES,
  formatRange,
  formatValue,
  readSettingText,
  listAcceptedWords,
  SIGNING_SECRET,
  createWholeNumber,
  type Setting,
} from './setting-schemas.js';
import { DELIVERY_SETTINGS } from './delivery-settings.js';
import { JOB_SETTINGS } from './job-settings.js';
import { LOCATION_SETTINGS } from './location-settings.js';
import { SECURITY_SETTINGS } from './security-settings.js';
import { TRACE_SETTINGS } from './tracing/trace-settings.js';
import { UsageError } from './usage-error.js';

export const SETTINGS = {
  host: declareSetting({
    flag: 'host',
    variable: 'HOST',
    otherwise: () => '127.0.0.1',
    help: 'Address on which the service listens. Any address other than loopback requires a key.',
    schema: z.string().min(1).max(255),
  }),
  port: declareSetting({
    flag: 'port',
    variable: 'PORT',
    otherwise: () => '8080',
    help: 'Port on which the service listens; 0 selects any free port. Default of a worker: the first free port from 8180 to 8279.',
    schema: createWholeNumber(0, 65_535),
  }),
  home: declareSetting({
    flag: 'home',
    variable: 'DIVISOR_HOME',
    otherwise: () => './var',
    help: 'Folder for all stored data: documents, jobs, managed stores, renders.',
    schema: z
      .string()
      .min(1)
      .transform((path) => resolve(path)),
  }),
  database: declareSetting({
    flag: 'database',
    variable: 'DATABASE_URL',
    otherwise: () => '',
    help: 'PostgreSQL database for documents and jobs: postgres://user:password@host:5432/name. Default: files in the home. Prefer the environment variable, because flags are visible in the list of processes.',
    schema: databaseUrl,
    mayHoldSecret: true,
  }),
  ...LOCATION_SETTINGS,
  ...AWS_SETTINGS,
  ...JOB_SETTINGS,
  lease: declareSetting({
    flag: 'lease',
    variable: 'DIVISOR_LEASE',
    otherwise: () => '10',
    help: 'With --database: a node loses its jobs to other nodes after this number of seconds without a heartbeat.',
    schema: createWholeNumber(5, 3600),
    needs: { setting: 'database' },
  }),
  migrate: declareSetting({
    flag: 'migrate',
    variable: 'DIVISOR_MIGRATE',
    otherwise: () => 'off',
    help: 'on creates or upgrades the tables of the database at the start. divisor migrate does only this.',
    schema: z.enum(['on', 'off']).transform((word) => word === 'on'),
    needs: { setting: 'database' },
  }),
  workers: declareSetting({
    flag: 'workers',
    variable: 'DIVISOR_WORKERS',
    otherwise: () => String(availableParallelism()),
    help: 'Number of compute threads. Default: the number of cores; with --artifacts, no threads for heavy jobs.',
    schema: createWholeNumber(1, 256),
  }),
  numerics: declareSetting({
    flag: 'numerics',
    variable: 'DIVISOR_NUMERICS',
    otherwise: () => 'auto',
    help: 'Engine of the kernels. native and wasm return identical results on every machine; auto selects native if it works, otherwise wasm.',
    schema: engineSchema,
  }),
  panelMegabytes: PANEL_MEGABYTES,
  dataRoots: declareSetting({
    flag: 'data-roots',
    variable: 'DIVISOR_DATA_ROOTS',
    otherwise: () => '',
    otherwiseHelp: 'home',
    help: `Folders from which folder stores and file databases can be read, separated by "${delimiter}".`,
    schema: createListSchema(delimiter).transform((paths) => paths.map((path) => resolve(path))),
  }),
  databaseHosts: declareSetting({
    flag: 'database-hosts',
    variable: 'DIVISOR_DATABASE_HOSTS',
    otherwise: () => '',
    otherwiseHelp: 'loopback',
    help: 'Hosts to which database stores can connect, separated by commas: host for port 5432, or host:port.',
    schema: hostPorts,
  }),
  ...SECURITY_SETTINGS,
  ...APPROVAL_SETTINGS,
  ...TRACE_SETTINGS,
  callbackHosts: declareSetting({
    flag: 'callback-hosts',
    variable: 'DIVISOR_CALLBACK_HOSTS',
    otherwise: () => '',
    help: 'Hosts that can receive notifications of ended jobs, separated by commas: host for the port of the scheme, or host:port.',
    schema: createListSchema(','),
  }),
  callbackPrivate: declareSetting({
    flag: 'callback-private',
    variable: 'DIVISOR_CALLBACK_PRIVATE',
    otherwise: () => 'off',
    help: 'on allows callbacks to this machine and to private networks.',
    schema: z.enum(['on', 'off']).transform((word) => word === 'on'),
  }),
  callbackSecrets: declareSetting({
    variable: 'DIVISOR_CALLBACK_SECRET',
    otherwise: () => '',
    help: 'Secret that signs callbacks: whsec_ and 24 to 64 bytes in base64. During a rotation: two secrets, separated by a comma.',
    schema: createListSchema(',').pipe(
      z.array(z.string().regex(SIGNING_SECRET, 'must be whsec_ and 24 to 64 bytes in base64')),
    ),
    isSecret: true,
  }),
  ...DELIVERY_SETTINGS,
  apiKeys: declareSetting({
    variable: 'DIVISOR_API_KEYS',
    otherwise: () => '',
    help: 'Keys of stateless deployments, separated by commas: name:keyId:sha256hex:scope+scope. Append :prefix+prefix to limit ids.',
    schema: createListSchema(',').pipe(z.array(keyRecord)),
    isSecret: true,
  }),
  warmUp: declareSetting({
    flag: 'warm-up',
    variable: 'DIVISOR_WARM_UP',
    otherwise: () => 'on',
    help: 'on starts worker threads before the first task. In idle time, they prepare runs, views and previews of the served store. After the start, the service runs two practice jobs in a temporary home.',
    schema: z.enum(['on', 'off']).transform((word) => word === 'on'),
  }),
  console: declareSetting({
    flag: 'console',
    variable: 'DIVISOR_CONSOLE',
    otherwise: () => 'on',
    help: 'on serves the console, the pages for browsers, at /.',
    schema: z.enum(['on', 'off']).transform((word) => word === 'on'),
  }),
  logLevel: declareSetting({
    flag: 'log-level',
    variable: 'DIVISOR_LOG_LEVEL',
    otherwise: () => 'info',
    help: 'Minimum severity of log lines, which are written to standard error.',
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
  }),
  runsKept: declareSetting({
    flag: 'runs-kept',
    variable: 'DIVISOR_RUNS_KEPT',
    // A month of daily runs.
    otherwise: () => '20',
    help: 'Maximum number of runs that are kept for an index. Published runs are kept in addition.',
    schema: createWholeNumber(1, 1000),
  }),
  documentVersionsKept: declareSetting({
    flag: 'document-versions-kept',
    variable: 'DIVISOR_DOCUMENT_VERSIONS_KEPT',
    otherwise: () => '',
    otherwiseHelp: 'all',
    help: 'Maximum number of versions that are kept of each document, including its deletion. A write removes older versions.',
    schema: z
      .literal('')
      .transform(() => undefined)
      .or(createWholeNumber(1, 1_000_000)),
  }),
  dataWaitMs: declareSetting({
    flag: 'data-wait-ms',
    variable: 'DIVISOR_DATA_WAIT_MS',
    // Most stores load within this time. A client with a time limit still gets a response.
    otherwise: () => '2000',
    help: 'Maximum time for which a request waits after a restart, while the served data is loaded.',
    schema: createWholeNumber(0, 60_000),
  }),
  drainMs: declareSetting({
    flag: 'drain-ms',
    variable: 'DIVISOR_DRAIN_MS',
    otherwise: () => '1000',
    help: 'Time for which a stopping service accepts connections, so that load balancers see that /health/ready refuses.',
    schema: createWholeNumber(0, 10_000),
  }),
};

type SettingName = keyof typeof SETTINGS;

/** Values of all settings. */
export type Settings = { readonly [N in SettingName]: z.output<(typeof SETTINGS)[N]['schema']> } & {
  /**
   * Number of heavy jobs that this process runs at a time. A service on several machines leaves heavy jobs to the
   * workers.
   */
  readonly heavyPlaces: number;
};

export interface EffectiveSettings {
  readonly settings: Settings;
  /**
   * Sentences about settings that have no effect, because another setting is missing. Each sentence names the missing
   * setting.
   */
  readonly ineffective: readonly string[];
  /** Settings and where their values come from, in the order of declaration. A secret is shown as a count. */
  readonly rows: readonly {
    readonly name: SettingName;
    readonly flag: string | undefined;
    readonly variable: string;
    /** Value in force, also of a default, as its flag would state it. */
    readonly value: string;
    readonly source: string;
    readonly help: string;
  }[];
}

/**
 * Reads the settings. A flag has priority over the environment, and the environment over the default.
 * @param argv words after the command.
 * @throws StartRefusal with status 78 for a value that is not accepted; UsageError for an unknown flag
 */
export function readSettings(argv: readonly string[], environment: NodeJS.ProcessEnv): EffectiveSettings {
  const flags = readFlags(argv);
  const values: Partial<Record<SettingName, unknown>> = {};
  const sources: Partial<Record<SettingName, string>> = {};
  const givenTexts: Partial<Record<SettingName, string>> = {};
  for (const [name, setting] of listSettings()) {
    const { text, source } = readSettingText(setting, flags, environment);
    const result = setting.schema.safeParse(text);
    if (!result.success) {
      const quotedText = setting.isSecret || setting.mayHoldSecret ? '' : ` ${JSON.stringify(maskUrlPasswords(text))}`;
      throw new StartRefusal(EXIT_CONFIGURATION, `The setting ${source}${quotedText} ${formatClause(result.error)}.`);
    }
    values[name] = result.data;
    sources[name] = source;
    givenTexts[name] = text;
  }
  // Each value was already parsed by its own schema.
  const settings = addDependentDefaults(values as Settings, sources.workers !== 'default');
  if (settings.callbackHosts.length > 0 && settings.callbackSecrets.length === 0)
    throw new StartRefusal(EXIT_CONFIGURATION, `The setting ${sources.callbackHosts} needs DIVISOR_CALLBACK_SECRET.`);
  if (settings.smtpUrl !== undefined && settings.smtpFrom === undefined)
    throw new StartRefusal(EXIT_CONFIGURATION, `The setting ${sources.smtpUrl} needs --smtp-from.`);
  const rows = listSettings().map(([name, setting]) => ({
    name,
    flag: setting.flag,
    variable: setting.variable,
    value: formatValue(setting, settings[name], givenTexts[name]!).replace(/^home\b/, settings.home),
    source: sources[name]!,
    help: setting.help,
  }));
  return { settings, ineffective: listIneffectiveSettings(settings, sources), rows };
}

function listIneffectiveSettings(settings: Settings, sources: Partial<Record<SettingName, string>>): readonly string[] {
  return listSettings().flatMap(([name, { needs, schema, otherwise }]) => {
    const isSet = sources[name] !== 'default' && settings[name] !== schema.parse(otherwise());
    if (needs === undefined || !isSet || settings[needs.setting]?.startsWith(needs.begins ?? '') === true) return [];
    const { flag } = SETTINGS[needs.setting];
    return [
      `${sources[name]} has no effect without --${flag}${needs.begins === undefined ? '' : ` ${needs.begins}...`}`,
    ];
  });
}

/**
 * Adds defaults that depend on other settings. Data comes from folders under the home; databases of this machine are
 * permitted if the service listens only on this machine. Heavy jobs run on the workers, if there are any.
 */
function addDependentDefaults(settings: Settings, areWorkersGiven: boolean): Settings {
  const { dataRoots, databaseHosts, deliveryRoots, home, host, artifacts, workers } = settings;
  return {
    ...settings,
    heavyPlaces: artifacts === undefined || areWorkersGiven ? workers : 0,
    dataRoots: dataRoots.length > 0 ? dataRoots : [home],
    deliveryRoots: deliveryRoots.length > 0 ? deliveryRoots : [join(home, 'delivery')],
    databaseHosts: databaseHosts.length > 0 || !isLoopbackName(host) ? databaseHosts : LOOPBACK_HOSTS,
  };
}

const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '::1'];

function listSettings(): [SettingName, Setting<z.ZodType>][] {
  return Object.entries(SETTINGS) as [SettingName, Setting<z.ZodType>][];
}

/** Flags that may be repeated; their values are combined. For every other flag the last value counts. */
const REPEATABLE_FLAGS: ReadonlySet<string> = new Set(['oidc-scopes']);

const readText = (flag: string, values: readonly string[] | undefined): string | undefined =>
  REPEATABLE_FLAGS.has(flag) ? values?.join(',') : values?.at(-1);

function readFlags(argv: readonly string[]): Record<string, string | undefined> {
  const options = Object.fromEntries(
    listSettings().flatMap(([, { flag }]) =>
      flag === undefined ? [] : [[flag, { type: 'string' as const, multiple: true as const }]],
    ),
  );
  try {
    const { values } = parseArgs({ args: [...argv], options, strict: true, allowPositionals: false });
    return Object.fromEntries(Object.entries(values).map(([flag, given]) => [flag, readText(flag, given)]));
  } catch (failure) {
    throw new UsageError(readFirstSentence(failure, Object.keys(options)), { cause: failure });
  }
}

/** Returns the flags of the service with the values that they accept. A flag that accepts any value has none. */
export const listSettingFlags = (): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    listSettings().flatMap(([, { flag, schema }]) =>
      flag === undefined ? [] : [[`--${flag}`, listAcceptedWords(schema)]],
    ),
  );

/** Returns the help text of the flags of the service. */
export function formatSettingsHelp(): string {
  const rows = listSettings().map(([, { flag, variable, otherwise, otherwiseHelp = 'none', help, schema }]) => [
    flag === undefined ? '' : `--${flag}`,
    variable,
    otherwise() || otherwiseHelp,
    `${help}${formatRange(schema)}`,
  ]);
  const widths = [0, 1, 2].map((i) => Math.max(...rows.map((row) => row[i]!.length)));
  return rows
    .map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
    .map((line) => `  ${line.trimEnd()}\n`)
    .join('');
}
