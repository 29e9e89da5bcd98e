import { availableParallelism, homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { decodeAddressPart, isLoopbackName, maskUrlPasswords } from '#base/addresses.js';
import { LIMITS } from '#domain/base/limits.js';
import { SIGNING_SECRET } from '#domain/definition/delivery.js';
import { parseBucketAddress } from '#domain/definition/target-addresses.js';
import { parseRetryPolicies, RETRY_DEFAULTS, type RetryPolicies } from '#domain/outputs/jobs.js';
import type { QueueLimits } from '#jobs/port/queue.js';
import type { HomeFolders } from '#store/home/home.js';
import { type ArtifactLocation, parseArtifactLocation } from '#store/ownership/artifact-location.js';
import type { AwsSettings } from '#store/s3/keys.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { formatTable } from '../terminal.js';
import { readFirstSentence, UsageError } from '../usage.js';
import { APPROVAL_SETTINGS, SECURITY_SETTINGS } from './security.js';
import {
  createListSchema,
  createWholeNumber,
  databaseUrl,
  declareAwsSetting,
  declareSetting,
  engineSchema,
  formatClause,
  formatRange,
  formatValue,
  hostPorts,
  keyRecord,
  listAcceptedWords,
  PANEL_MEGABYTES,
  readSettingText,
  type Setting,
  type SettingRequirement,
} from './setting.js';

/** Settings from the environment variables of the AWS tools. Names and precedence are the same as in these tools. */
const AWS_SETTINGS = {
  awsKeyId: declareAwsSetting('AWS_ACCESS_KEY_ID', 'Access key of the bucket.', { isSecret: true }),
  awsSecret: declareAwsSetting('AWS_SECRET_ACCESS_KEY', 'Secret of the access key.', { isSecret: true }),
  awsSession: declareAwsSetting('AWS_SESSION_TOKEN', 'Token of temporary keys.', { isSecret: true }),
  awsRegion: declareAwsSetting('AWS_REGION', 'Region of the bucket.', {
    elsewhere: 'AWS_DEFAULT_REGION',
    otherwiseHelp: 'that of the profile, or us-east-1',
  }),
  awsEndpoint: declareAwsSetting('AWS_ENDPOINT_URL_S3', 'Endpoint of an S3-compatible store outside AWS.', {
    elsewhere: 'AWS_ENDPOINT_URL',
  }),
  awsTokenFile: declareAwsSetting('AWS_WEB_IDENTITY_TOKEN_FILE', 'File with the web identity token for AWS_ROLE_ARN.'),
  awsRole: declareAwsSetting('AWS_ROLE_ARN', 'Role that is assumed with the web identity token.'),
  awsSessionName: declareAwsSetting('AWS_ROLE_SESSION_NAME', 'Session name for the assumed role.', {
    otherwiseHelp: 'divisor',
  }),
  awsStsEndpoint: declareAwsSetting('AWS_ENDPOINT_URL_STS', 'Endpoint of STS.', {
    elsewhere: 'AWS_ENDPOINT_URL',
    otherwiseHelp: 'that of AWS',
  }),
  awsProfile: declareAwsSetting('AWS_PROFILE', 'Profile with the keys and region.', { otherwiseHelp: 'default' }),
  awsCredentialsFile: declareAwsSetting('AWS_SHARED_CREDENTIALS_FILE', 'File of credentials.', {
    otherwiseHelp: '~/.aws/credentials',
  }),
  awsConfigFile: declareAwsSetting('AWS_CONFIG_FILE', 'File of profiles.', { otherwiseHelp: '~/.aws/config' }),
  awsContainerPath: declareAwsSetting(
    'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
    'Path of the credentials of an ECS container.',
    {
      isSecret: true,
    },
  ),
  awsContainerUrl: declareAwsSetting(
    'AWS_CONTAINER_CREDENTIALS_FULL_URI',
    'URL of the credentials of a pod or container.',
  ),
  awsContainerToken: declareAwsSetting(
    'AWS_CONTAINER_AUTHORIZATION_TOKEN',
    'Authorisation token for the URL of the credentials.',
    {
      isSecret: true,
    },
  ),
  awsContainerTokenFile: declareAwsSetting(
    'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
    'File with the authorisation token. It is read before each request.',
  ),
  awsMachineOff: declareAwsSetting(
    'AWS_EC2_METADATA_DISABLED',
    'true turns off requests for credentials to the instance metadata service.',
    { otherwiseHelp: 'false' },
  ),
  awsMachine: declareAwsSetting('AWS_EC2_METADATA_SERVICE_ENDPOINT', 'Endpoint of the instance metadata service.'),
};

type SettingValues = { readonly [N in keyof typeof AWS_SETTINGS]: z.output<(typeof AWS_SETTINGS)[N]['schema']> };

export function selectAwsSettings(settings: SettingValues): AwsSettings {
  return {
    accessKeyId: settings.awsKeyId,
    secretAccessKey: settings.awsSecret,
    sessionToken: settings.awsSession,
    region: settings.awsRegion,
    endpoint: settings.awsEndpoint,
    tokenFile: settings.awsTokenFile,
    roleArn: settings.awsRole,
    sessionName: settings.awsSessionName,
    stsEndpoint: settings.awsStsEndpoint,
    profile: settings.awsProfile,
    credentialsFile: settings.awsCredentialsFile ?? join(homedir(), '.aws', 'credentials'),
    configFile: settings.awsConfigFile ?? join(homedir(), '.aws', 'config'),
    containerPath: settings.awsContainerPath,
    containerUrl: settings.awsContainerUrl,
    containerToken: settings.awsContainerToken,
    containerTokenFile: settings.awsContainerTokenFile,
    isMachineOff: settings.awsMachineOff?.toLowerCase() === 'true',
    machineEndpoint: settings.awsMachine,
  };
}

const isMailServer = (text: string): boolean =>
  /^smtps?:\/\//.test(text) && URL.canParse(text) && new URL(text).hostname !== '';

/** Settings that limit where files of schedules may be delivered. */
const DELIVERY_SETTINGS = {
  deliveryRoots: declareSetting({
    flag: 'delivery-roots',
    variable: 'DIVISOR_DELIVERY_ROOTS',
    otherwise: () => '',
    otherwiseHelp: 'home/delivery',
    help: `Folders to which files can be delivered, separated by "${delimiter}".`,
    schema: createListSchema(delimiter).transform((paths) => paths.map((path) => resolve(path))),
  }),
  deliveryHosts: declareSetting({
    flag: 'delivery-hosts',
    variable: 'DIVISOR_DELIVERY_HOSTS',
    otherwise: () => '',
    help: 'Hosts to which files can be delivered by SFTP, or to buckets with the keys of the client, separated by commas: host for the port of the scheme, or host:port.',
    schema: hostPorts,
  }),
  deliveryBuckets: declareSetting({
    flag: 'delivery-buckets',
    variable: 'DIVISOR_DELIVERY_BUCKETS',
    otherwise: () => '',
    help: 'Buckets to which files can be delivered with the keys of the service, separated by commas: s3://bucket or s3://bucket/prefix.',
    schema: createListSchema(',').pipe(
      z.array(
        z.string().superRefine((text, context) => {
          const { problem } = parseBucketAddress(text);
          if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
        }),
      ),
    ),
  }),
  smtpUrl: declareSetting({
    variable: 'DIVISOR_SMTP_URL',
    otherwise: () => '',
    help: 'Mail server: smtp://user:password@host:587 or smtps://user:password@host.',
    schema: z
      .string()
      .refine((text) => text === '' || isMailServer(text), 'must be like smtp://user:password@host:587')
      .transform((text) => (text === '' ? undefined : text)),
    isSecret: true,
  }),
  smtpFrom: declareSetting({
    flag: 'smtp-from',
    variable: 'DIVISOR_SMTP_FROM',
    otherwise: () => '',
    help: 'Sender address of mails.',
    schema: z
      .string()
      .regex(/^(?:[^\s@<>]+@[^\s@<>]+)?$/, 'must be an address like indices@desk.example')
      .transform((text) => (text === '' ? undefined : text)),
  }),
  mailDomains: declareSetting({
    flag: 'mail-domains',
    variable: 'DIVISOR_MAIL_DOMAINS',
    otherwise: () => '',
    help: 'Domains to which mails can be sent, separated by commas.',
    schema: createListSchema(','),
  }),
};

const JOBS_MAX = 10_000_000;

const DEFAULT_TEXT = Object.entries(RETRY_DEFAULTS)
  .map(([member, value]) => `${member}=${value}`)
  .join(',');

/** Text of a policy with every member that applies to all kinds: later entries replace earlier ones. */
const retryText = z
  .string()
  .superRefine((text, context) => {
    const policies = parseRetryPolicies(text);
    if (typeof policies === 'string') context.addIssue({ code: 'custom', message: policies });
  })
  .transform((text) => {
    const entries = [DEFAULT_TEXT, text].flatMap((list) => list.split(',')).map((entry) => entry.trim().split('='));
    return [...new Map(entries.filter(([member]) => member !== '') as [string, string][])]
      .map(([member, value]) => `${member}=${value}`)
      .join(',');
  });

const JOB_SETTINGS = {
  databasePooler: declareSetting({
    flag: 'database-pooler',
    variable: 'DATABASE_POOLER_URL',
    otherwise: () => '',
    help: 'PgBouncer in transaction mode in front of --database: postgres://user:password@host:6432/name. Statements use it; one connection per process bypasses it.',
    schema: databaseUrl,
    mayHoldSecret: true,
    needs: { setting: 'database' },
  }),
  jobsKept: declareSetting({
    flag: 'jobs-kept',
    variable: 'DIVISOR_JOBS_KEPT',
    otherwise: () => String(LIMITS.MAX_ENDED_JOBS),
    help: 'Maximum number of ended jobs to keep; the oldest are deleted. A service without --database reads all of them at its start.',
    schema: createWholeNumber(1, JOBS_MAX),
  }),
  jobsWaiting: declareSetting({
    flag: 'jobs-waiting',
    variable: 'DIVISOR_JOBS_WAITING',
    otherwise: () => String(LIMITS.MAX_QUEUED_JOBS),
    help: 'Maximum number of waiting jobs; more are refused with OVERLOADED.',
    schema: createWholeNumber(1, JOBS_MAX),
  }),
  jobRetries: declareSetting({
    flag: 'job-retries',
    variable: 'DIVISOR_JOB_RETRIES',
    otherwise: () => '',
    otherwiseHelp: DEFAULT_TEXT,
    help: 'Retry policy: the number of crashes, losses and returns to the queue before a job fails, the seconds between retries, and the seconds after which retries stop. member=value applies to all kinds, kind.member=value to one; separate by commas.',
    schema: retryText,
  }),
};

interface JobSettingValues {
  readonly jobsKept: number;
  readonly jobsWaiting: number;
  readonly jobRetries: string;
}

export function readQueuePolicy({
  jobsKept,
  jobsWaiting,
  jobRetries,
}: JobSettingValues): Pick<QueueLimits, 'queueMax' | 'endedMax' | 'getRetryPolicy'> {
  const getRetryPolicy = parseRetryPolicies(jobRetries) as RetryPolicies; // the schema of the setting parsed it
  return { queueMax: jobsWaiting, endedMax: jobsKept, getRetryPolicy };
}

const BUCKET_REQUIREMENT: SettingRequirement = { setting: 'artifacts', begins: 's3://' };

/** Settings for results that several machines share: where they are stored and how long. */
const LOCATION_SETTINGS = {
  artifacts: declareSetting({
    flag: 'artifacts',
    variable: 'DIVISOR_ARTIFACTS',
    otherwise: () => '',
    otherwiseHelp: 'home',
    help: 'Results storage that several machines share, with --database: file:///folder or s3://bucket/prefix.',
    schema: z
      .string()
      .regex(/^((file:\/\/\/|s3:\/\/)[^\s@?#]+)?$/, 'must be like file:///mnt/shared or s3://bucket/prefix')
      .transform((text) => (text === '' ? undefined : text)),
    mayHoldSecret: true,
  }),
  backups: declareSetting({
    flag: 'backups',
    variable: 'DIVISOR_BACKUPS',
    otherwise: () => '',
    otherwiseHelp: 'home/backups',
    help: 'Folder of backups. divisor backup writes to this folder by default, and metrics report the age of its newest backup.',
    schema: z.string().transform((path) => (path === '' ? undefined : resolve(path))),
  }),
  trashHours: declareSetting({
    flag: 'trash-hours',
    variable: 'DIVISOR_TRASH_HOURS',
    otherwise: () => '24',
    help: 'With --artifacts: number of hours for which orphaned results remain in the folder trash. 0 deletes them at once.',
    schema: createWholeNumber(0, 8760),
    needs: { setting: 'artifacts' },
  }),
  readOnly: declareSetting({
    flag: 'read-only',
    variable: 'DIVISOR_READ_ONLY',
    otherwise: () => 'off',
    help: 'With --artifacts: on serves a database and its results read-only, and runs no jobs.',
    schema: z.enum(['on', 'off']).transform((word) => word === 'on'),
    needs: { setting: 'artifacts' },
  }),
  cache: declareSetting({
    flag: 'cache',
    variable: 'DIVISOR_CACHE',
    otherwise: () => '',
    otherwiseHelp: 'home/cache',
    help: 'Folder for cached objects of a bucket. Services on the same machine can share it.',
    schema: z.string().transform((path) => (path === '' ? undefined : resolve(path))),
    needs: BUCKET_REQUIREMENT,
  }),
  cacheMegabytes: declareSetting({
    flag: 'cache-mb',
    variable: 'DIVISOR_CACHE_MB',
    otherwise: () => '10240',
    help: 'Maximum size of the cache, in MiB.',
    schema: createWholeNumber(64, 100_000_000),
    needs: BUCKET_REQUIREMENT,
  }),
};

const url = z
  .string()
  .refine((text) => text === '' || /^https?:$/.test(URL.parse(text)?.protocol ?? ''), {
    error: 'must be an http or https address, for example http://127.0.0.1:4318',
  })
  .transform((text) => (text === '' ? undefined : text));

const PAIRS_PATTERN = /^(?:[^=,\s]+=[^,]*(?:,[^=,\s]+=[^,]*)*)?$/;
const pairs = z.string().regex(PAIRS_PATTERN, 'must be name=value pairs, separated by commas');

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Settings of tracing. Their environment variables are those of OpenTelemetry. */
const TRACE_SETTINGS = {
  otelDisabled: declareSetting({
    variable: 'OTEL_SDK_DISABLED',
    otherwise: () => 'false',
    help: 'True turns tracing off, also with an address of a collector.',
    // OpenTelemetry: only `true`, in any case, means true.
    schema: z.string().transform((text) => text.toLowerCase() === 'true'),
  }),
  otlpEndpoint: declareSetting({
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    otherwise: () => '',
    help: 'Address of the collector that receives traces as OTLP/HTTP with JSON. The service appends /v1/traces. Default: none, which turns tracing off.',
    schema: url,
    mayHoldSecret: true,
  }),
  otlpTracesEndpoint: declareSetting({
    variable: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    otherwise: () => '',
    help: 'Full address of the collector. Nothing is appended to it.',
    schema: url,
    mayHoldSecret: true,
  }),
  otlpHeaders: declareSetting({
    variable: 'OTEL_EXPORTER_OTLP_HEADERS',
    otherwise: () => '',
    help: 'Headers of requests to the collector: name=value pairs, separated by commas, percent-encoded.',
    schema: pairs,
    isSecret: true,
  }),
  otlpServiceName: declareSetting({
    variable: 'OTEL_SERVICE_NAME',
    otherwise: () => 'divisor',
    help: 'Name of this process in traces.',
    schema: z.string().min(1).max(255),
  }),
  otlpResource: declareSetting({
    variable: 'OTEL_RESOURCE_ATTRIBUTES',
    otherwise: () => '',
    help: 'Further attributes of this process: name=value pairs, separated by commas, percent-encoded.',
    schema: pairs,
  }),
  traceSampler: declareSetting({
    variable: 'OTEL_TRACES_SAMPLER',
    otherwise: () => 'parentbased_always_on',
    help: 'Sampler for requests without a trace. For requests with a traceparent, its flag decides.',
    schema: z.enum(SAMPLERS),
  }),
  traceRatio: declareSetting({
    variable: 'OTEL_TRACES_SAMPLER_ARG',
    otherwise: () => '1',
    help: 'Share of requests without a trace that are traced, from 0 to 1, for the samplers by ratio.',
    schema: z.coerce.number().min(0).max(1),
  }),
  traceDelayMs: declareSetting({
    variable: 'OTEL_BSP_SCHEDULE_DELAY',
    otherwise: () => '5000',
    help: 'Delay in milliseconds from the end of a span until it is sent, together with other ended spans.',
    schema: z.coerce.number().int().min(0).max(60_000),
  }),
};

export interface TraceSettings {
  readonly otelDisabled: boolean;
  readonly otlpEndpoint?: string | undefined;
  readonly otlpTracesEndpoint?: string | undefined;
  readonly otlpHeaders: string;
  readonly otlpServiceName: string;
  readonly otlpResource: string;
  readonly traceSampler: (typeof SAMPLERS)[number];
  readonly traceRatio: number;
  readonly traceDelayMs: number;
}

/** Returns the address of the collector; undefined if tracing is off. */
export function findCollector({ otelDisabled, otlpEndpoint, otlpTracesEndpoint }: TraceSettings): string | undefined {
  if (otelDisabled) return undefined;
  return (
    otlpTracesEndpoint ?? (otlpEndpoint === undefined ? undefined : `${otlpEndpoint.replace(/\/$/, '')}/v1/traces`)
  );
}

/** Parses `name=value` pairs. Valid percent-encoding is decoded. */
export const parsePairs = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text
      .split(',')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const separator = pair.indexOf('=');
        const value = pair.slice(separator + 1).trim();
        return [pair.slice(0, separator).trim(), decodeAddressPart(value) ?? value];
      }),
  );

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

export type Settings = { readonly [N in SettingName]: z.output<(typeof SETTINGS)[N]['schema']> } & {
  /**
   * Number of heavy jobs that this process runs at a time. A service on several machines leaves heavy jobs to the
   * workers.
   */
  readonly heavyPlaces: number;
  /** True if the operator has set the data roots. */
  readonly areDataRootsGiven: boolean;
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
  if (settings.sqlProcessMegabytes < settings.sqlMegabytes || settings.sqlTotalMegabytes < settings.sqlProcessMegabytes)
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `--sql-memory-mb (${settings.sqlMegabytes}) must not exceed --sql-process-memory-mb (${settings.sqlProcessMegabytes}), which must not exceed --sql-total-memory-mb (${settings.sqlTotalMegabytes}).`,
    );
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
    areDataRootsGiven: dataRoots.length > 0,
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

/** Runs `divisor config`: prints every setting, its value in force, and where the value comes from. */
export function printConfig(argv: readonly string[], environment: NodeJS.ProcessEnv): number {
  const { rows } = readSettings(argv, environment);
  const cells = rows.map(({ flag, variable, value, source, help }) => [
    flag === undefined ? '' : `--${flag}`,
    variable,
    value,
    source,
    help,
  ]);
  process.stdout.write(formatTable([['flag', 'variable', 'value', 'source', 'meaning'], ...cells], 0));
  return 0;
}

/** Returns the location of the documents, if they are not in the home. */
export function readDatabaseSettings({
  database,
  databasePooler: pooler,
  migrate,
}: Settings): { url: string; pooler: string | undefined; migrate: boolean } | undefined {
  return database === undefined ? undefined : { url: database, pooler, migrate };
}

/**
 * Returns the folders that contain files of a service. Parts that are stored elsewhere are left out. With an object
 * store, its cache is included.
 */
export function listFolders(
  { path, documents, artifacts, stores, backups }: HomeFolders,
  { database, artifacts: resultsLocation, cache = join(path, 'cache') }: Partial<Settings> = {},
): Readonly<Record<string, string>> {
  return {
    ...(database === undefined ? { documents, backups } : {}),
    ...(resultsLocation === undefined ? { artifacts } : {}),
    stores,
    ...(resultsLocation?.startsWith('s3:') === true ? { cache } : {}),
  };
}

/**
 * Returns the location of the artifacts, if they are not in the home. @throws StartRefusal 78 without a database, or
 * without credentials for a bucket
 */
export function readArtifactLocation(settings: Settings): ArtifactLocation | undefined {
  const { artifacts: url, home, cache: folder = join(home, 'cache'), cacheMegabytes } = settings;
  if (url === undefined) return undefined;
  if (settings.database === undefined)
    throw new StartRefusal(EXIT_CONFIGURATION, 'Artifacts outside the home require a database: set --database too.');
  return parseArtifactLocation({
    url,
    cache: { folder, bytesMax: cacheMegabytes * 2 ** 20 },
    aws: selectAwsSettings(settings),
  });
}
