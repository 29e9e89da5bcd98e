import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Refusal } from '#domain/base/refusals.js';
import { findRegionProblem } from '#domain/definition/target-addresses.js';
import { ArtifactStoreFault, findCode } from '../artifacts/artifact.js';
import type { StorageKeys, KeySource, QueriedKeySource } from '../port.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';
import { formatResponse } from './failures.js';

interface ProfileFiles {
  readonly credentialsFile: string;
  readonly configFile: string;
}

/** Values of a profile by name. Values of the credentials file take precedence over those of the configuration file. */
type Profile = ReadonlyMap<string, string>;

/**
 * Reads a profile. @returns undefined if neither file contains it. @throws ArtifactStoreFault for an unreadable file
 */
function readProfile(name: string, { credentialsFile, configFile }: ProfileFiles): Profile | undefined {
  const configSection = parseSections(configFile).get(name === 'default' ? name : `profile ${name}`);
  const credentialsSection = parseSections(credentialsFile).get(name);
  return configSection === undefined && credentialsSection === undefined
    ? undefined
    : new Map([...(configSection ?? []), ...(credentialsSection ?? [])]);
}

function parseSections(file: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of readText(file).split('\n')) {
    // Skips comments and indented lines. Indented lines are settings of a single service.
    if (/^[\s#;]/.test(line) || line === '') continue;
    if (line.startsWith('[')) {
      const name = line.slice(1, line.includes(']') ? line.indexOf(']') : undefined);
      const nameWords = name.split(/\s/).filter((word) => word !== '');
      section = sections.get(nameWords.join(' ')) ?? new Map<string, string>();
      sections.set(nameWords.join(' '), section);
      continue;
    }
    const offset = line.indexOf('=');
    if (offset > 0) section?.set(line.slice(0, offset).trim().toLowerCase(), line.slice(offset + 1).trim());
  }
  return sections;
}

/** Reads a file synchronously. The files are small, local and rarely read. @returns an empty text for a missing file */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const code = findCode(cause);
    if (code === 'ENOENT' || code === 'ENOTDIR') return '';
    throw new ArtifactStoreFault(`The file of AWS profiles ${file} cannot be read: ${code}.`, cause);
  }
}

/** Time limits of one request in ms. The metadata service of a machine answers at once, or not at all. */
const ANSWER_MS = 3000;
const MACHINE_ANSWER_MS = 1000;
/** Maximum length of a response or file in characters. */
const TEXT_MAX = 1 << 16;
/** Lifetime of a token for the instance metadata service in seconds. The token is used for one pair of requests. */
const MACHINE_TOKEN_SECONDS = 60;
const ROLE_PATH = '/latest/meta-data/iam/security-credentials/';

/**
 * Requests keys from a source. Errors contain neither keys nor tokens.
 * @throws Refusal STORE_UNAVAILABLE for a temporary failure; an ArtifactStoreFault for a failure that requires other
 * settings
 */
function queryKeys(source: QueriedKeySource): Promise<StorageKeys> {
  switch (source.kind) {
    case 'profile':
      return requestProfileKeys(source);
    case 'web-identity':
      return requestIdentityKeys(source);
    case 'container':
      return requestContainerKeys(source);
    case 'machine':
      return requestMachineKeys(source);
  }
}

type SourceOf<K extends QueriedKeySource['kind']> = Extract<QueriedKeySource, { readonly kind: K }>;

async function requestProfileKeys({ profile, ...files }: SourceOf<'profile'>): Promise<StorageKeys> {
  const values = readProfile(profile, files);
  const [accessKeyId, secretAccessKey] = ['aws_access_key_id', 'aws_secret_access_key'].map((name) =>
    values?.get(name),
  );
  if (!accessKeyId || !secretAccessKey)
    throw new ArtifactStoreFault(`The profile ${profile} lacks aws_access_key_id or aws_secret_access_key.`);
  return { accessKeyId, secretAccessKey, sessionToken: values?.get('aws_session_token') };
}

async function requestIdentityKeys({
  tokenFile,
  roleArn,
  sessionName,
  endpoint,
}: SourceOf<'web-identity'>): Promise<StorageKeys> {
  const token = await readToken(tokenFile, 'AWS_WEB_IDENTITY_TOKEN_FILE');
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: roleArn,
    RoleSessionName: sessionName,
    WebIdentityToken: token,
  });
  const sourceName = `The service that provides keys for the role ${roleArn}`;
  const { status, text } = await requestText(sourceName, endpoint, { method: 'POST', body });
  const findTagValue = (tag: string): string | undefined => findValue(text, tag);
  if (status === 200)
    return createKeys(sourceName, {
      AccessKeyId: findTagValue('AccessKeyId'),
      SecretAccessKey: findTagValue('SecretAccessKey'),
      Token: findTagValue('SessionToken'),
      Expiration: findTagValue('Expiration'),
    });
  throw createRefusal(sourceName, status, /^\w{1,64}$/.exec(findTagValue('Code') ?? '')?.[0]);
}

async function requestContainerKeys({ url, token, tokenFile }: SourceOf<'container'>): Promise<StorageKeys> {
  const authorization =
    tokenFile === undefined ? token : await readToken(tokenFile, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  if (authorization !== undefined && !HEADER_TEXT.test(authorization))
    throw new ArtifactStoreFault(
      'AWS_CONTAINER_AUTHORIZATION_TOKEN, or its file, must contain one line of printable ASCII.',
    );
  const sourceName = 'The agent with the keys of this container';
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  const { status, text } = await requestText(sourceName, url, { headers });
  if (status === 200) return createKeys(sourceName, parseMembers(text));
  throw createRefusal(sourceName, status, parseMembers(text).code);
}

async function requestMachineKeys({ endpoint }: SourceOf<'machine'>): Promise<StorageKeys> {
  const sourceName = 'The metadata service of this machine';
  const ask = async (path: string, init: RequestInit): Promise<string> => {
    const { status, text } = await requestText(sourceName, `${endpoint}${path}`, init, MACHINE_ANSWER_MS);
    if (status === 200) return text;
    const message = status === 404 && path === ROLE_PATH ? 'NoRole' : undefined;
    throw createRefusal(sourceName, status, message);
  };
  const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': String(MACHINE_TOKEN_SECONDS) };
  const token = await ask('/latest/api/token', { method: 'PUT', headers: ttl });
  if (!HEADER_TEXT.test(token)) throw new Refusal('STORE_UNAVAILABLE', `${sourceName} returns no token.`);
  const headers = { 'x-aws-ec2-metadata-token': token };
  const [role = ''] = (await ask(ROLE_PATH, { headers })).split('\n');
  return createKeys(sourceName, parseMembers(await ask(`${ROLE_PATH}${encodeURIComponent(role.trim())}`, { headers })));
}

const HEADER_TEXT = /^[\x20-\x7e]+$/;

async function readToken(file: string, setting: string): Promise<string> {
  let token: string;
  try {
    token = (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new ArtifactStoreFault(`The file of ${setting} cannot be read: ${findCode(cause)}.`, cause);
  }
  if (token === '') throw new Refusal('STORE_UNAVAILABLE', `The file of ${setting} is empty.`);
  return token;
}

interface KeyResponse {
  readonly status: number;
  readonly text: string;
}

async function requestText(who: string, url: string, init: RequestInit, answerMs = ANSWER_MS): Promise<KeyResponse> {
  try {
    const signal = AbortSignal.timeout(answerMs);
    const response = await fetch(url, { redirect: 'error', signal, ...init });
    let text = '';
    for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      text += Buffer.from(piece).toString('latin1');
      if (text.length > TEXT_MAX) throw new Error('its answer is too long');
    }
    return { status: response.status, text };
  } catch (cause) {
    throw new Refusal(
      'STORE_UNAVAILABLE',
      `${who} cannot be reached at ${new URL(url).origin}${formatResponse('', cause)}.`,
    );
  }
}

/**
 * Matches error codes of a service that is overloaded, starting or stopping, and of a token that another program
 * renews.
 */
const TEMPORARY_ERROR = /^(Throttling\w*|RequestThrottled|IDPCommunicationError|ExpiredTokenException|ExpiredToken)$/;

function createRefusal(who: string, status: number, code: string | undefined): Refusal {
  const message = `${who} answers ${`${status} ${code ?? ''}`.trim()}.`;
  const isTemporary = status >= 500 || status === 429 || TEMPORARY_ERROR.test(code ?? '');
  return isTemporary ? new Refusal('STORE_UNAVAILABLE', message) : new ArtifactStoreFault(message);
}

/** Members of keys in responses of container agents and metadata services. */
interface KeyMembers {
  readonly AccessKeyId?: string | undefined;
  readonly SecretAccessKey?: string | undefined;
  readonly Token?: string | undefined;
  readonly Expiration?: string | undefined;
}

function createKeys(who: string, { AccessKeyId, SecretAccessKey, Token, Expiration }: KeyMembers): StorageKeys {
  if (!AccessKeyId || !SecretAccessKey) throw new Refusal('STORE_UNAVAILABLE', `${who} returns no keys.`);
  const expiresAt = Date.parse(Expiration ?? '');
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: Token,
    expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt,
  };
}

function parseMembers(text: string): Record<string, string | undefined> {
  try {
    const parsedValue: unknown = JSON.parse(text);
    return Object.fromEntries(
      Object.entries(parsedValue ?? {}).filter((member): member is [string, string] => typeof member[1] === 'string'),
    );
  } catch {
    return {};
  }
}

/** Returns the text of the first XML element with a name. */
function findValue(text: string, tag: string): string | undefined {
  const start = text.indexOf(`<${tag}>`);
  const end = text.indexOf(`</${tag}>`, start);
  return start < 0 || end < 0 ? undefined : text.slice(start + tag.length + 2, end).trim();
}

type OptionalText = string | undefined;

/** Settings of the AWS tools for a process; undefined if a setting is absent. */
export interface AwsSettings extends ProfileFiles {
  readonly accessKeyId: OptionalText;
  readonly secretAccessKey: OptionalText;
  readonly sessionToken: OptionalText;
  readonly region: OptionalText;
  /** Endpoint of an object store outside AWS. */
  readonly endpoint: OptionalText;
  readonly profile: OptionalText;
  readonly tokenFile: OptionalText;
  readonly roleArn: OptionalText;
  readonly sessionName: OptionalText;
  /** Endpoint of a token service outside AWS. */
  readonly stsEndpoint: OptionalText;
  readonly containerUrl: OptionalText;
  readonly containerPath: OptionalText;
  readonly containerToken: OptionalText;
  readonly containerTokenFile: OptionalText;
  readonly isMachineOff: boolean;
  readonly machineEndpoint: OptionalText;
}

/** Default region of services outside AWS. */
const DEFAULT_REGION = 'us-east-1';
/** Metadata address of an ECS container. */
const CONTAINER_ORIGIN = 'http://169.254.170.2';
/** Matches hosts that may provide keys without TLS. They are this machine, and the local ECS and EKS agents. */
const LOCAL_HOSTS = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]|169\.254\.170\.(2|23)|\[fd00:ec2::23\])$/;
const MACHINE_ORIGIN = 'http://169.254.169.254';
/** Profile members of unsupported sources of keys. */
const UNSUPPORTED_SETTINGS = [
  'sso_session',
  'sso_start_url',
  'credential_process',
  'source_profile',
  'credential_source',
];

/**
 * Returns the region and the first source of keys that is configured. The order is keys, identity token, profile,
 * container, machine. @throws StartRefusal 78 for a source that is incomplete or unusable
 */
export function chooseKeys(aws: AwsSettings): { readonly region: string; readonly keys: KeySource } {
  const profile = findProfile(aws);
  const region = chooseRegion(aws, profile);
  const keys =
    findFixedKeys(aws) ?? chooseIdentity(aws, region) ?? chooseProfile(aws, profile, region) ?? chooseContainer(aws);
  return { region, keys: keys ?? createMachineSource(aws) };
}

/** Returns the region of the settings. A store outside AWS may have a region that no host name can contain. */
export const chooseRegion = (aws: AwsSettings, profile = findProfile(aws)): string =>
  aws.region ?? profile?.get('region') ?? DEFAULT_REGION;

/** Domains of AWS outside `amazonaws.com`, by the prefix of their regions. @source partitions of the AWS SDKs */
const PARTITION_DOMAINS = [
  ['cn-', 'amazonaws.com.cn'],
  ['us-iso-', 'c2s.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
  ['eusc-', 'amazonaws.eu'],
] as const;

/** Returns the endpoint of an AWS service in a region. @throws StartRefusal 78 if the region would change the host */
export function formatAwsOrigin(service: string, region: string): string {
  const domain = PARTITION_DOMAINS.find(([prefix]) => region.startsWith(prefix))?.[1] ?? 'amazonaws.com';
  const origin = `https://${service}.${region}.${domain}`;
  const problem = findRegionProblem(region);
  if (problem !== undefined || new URL(origin).origin !== origin)
    throw refuse(
      `The region of AWS (AWS_REGION) ${problem ?? 'must be a part of a host name'}; it is ${JSON.stringify(region)}.`,
    );
  return origin;
}

function findFixedKeys({ accessKeyId, secretAccessKey, sessionToken }: AwsSettings): KeySource | undefined {
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw refuse('Artifacts in a bucket require both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither.');
  return { kind: 'given', accessKeyId, secretAccessKey, sessionToken };
}

function chooseIdentity(
  { tokenFile, roleArn, sessionName, stsEndpoint }: AwsSettings,
  region: string,
): KeySource | undefined {
  if (tokenFile === undefined) return undefined;
  if (roleArn === undefined)
    throw refuse('AWS_WEB_IDENTITY_TOKEN_FILE requires AWS_ROLE_ARN, the role of its identity.');
  const endpoint = stsEndpoint ?? formatAwsOrigin('sts', region);
  if (!/^https?:\/\/[^?#@\s]+$/.test(endpoint) || !URL.canParse(endpoint))
    throw refuse('AWS_ENDPOINT_URL_STS must be a URL like https://sts.example.');
  return { kind: 'web-identity', tokenFile, roleArn, sessionName: sessionName ?? 'divisor', endpoint };
}

function findProfile(aws: AwsSettings): Profile | undefined {
  let profile: Profile | undefined;
  try {
    profile = readProfile(aws.profile ?? 'default', aws);
  } catch (thrown) {
    // Default files that cannot be read count as absent.
    if (aws.profile === undefined) return undefined;
    throw thrown instanceof Refusal ? refuse(thrown.message) : thrown;
  }
  if (profile === undefined && aws.profile !== undefined)
    throw refuse(
      `The profile ${aws.profile} of AWS_PROFILE is neither in ${aws.credentialsFile} nor ${aws.configFile}.`,
    );
  return profile;
}

function chooseProfile(aws: AwsSettings, values: Profile | undefined, region: string): KeySource | undefined {
  if (values === undefined) return undefined;
  const { profile = 'default', credentialsFile, configFile } = aws;
  if (values.has('aws_access_key_id')) return { kind: 'profile', profile, credentialsFile, configFile };
  const [tokenFile, roleArn] = ['web_identity_token_file', 'role_arn'].map((name) => values.get(name));
  if (tokenFile !== undefined)
    return chooseIdentity({ ...aws, tokenFile, roleArn, sessionName: values.get('role_session_name') }, region);
  const unsupportedSetting = UNSUPPORTED_SETTINGS.find((name) => values.has(name));
  if (unsupportedSetting !== undefined)
    throw refuse(
      `The profile ${profile} uses ${unsupportedSetting}, which is not supported: use keys in the profile, or its web_identity_token_file.`,
    );
  return undefined;
}

function chooseContainer(aws: AwsSettings): KeySource | undefined {
  const { containerPath: path, containerToken: token, containerTokenFile: tokenFile } = aws;
  if (path !== undefined && !/^\/[^\s]*$/.test(path))
    throw refuse('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must be a path like /v2/credentials/id.');
  const url = path === undefined ? aws.containerUrl : `${CONTAINER_ORIGIN}${path}`;
  if (url === undefined) return undefined;
  const { protocol, hostname, username } = URL.canParse(url)
    ? new URL(url)
    : { protocol: '', hostname: '', username: '' };
  const isPermitted = protocol === 'https:' || (protocol === 'http:' && LOCAL_HOSTS.test(hostname));
  if (!isPermitted || username !== '')
    throw refuse(
      'AWS_CONTAINER_CREDENTIALS_FULL_URI must be an https URL, or an http URL on loopback or of the ECS or EKS agent.',
    );
  return { kind: 'container', url, token, tokenFile };
}

function createMachineSource({ isMachineOff, machineEndpoint = MACHINE_ORIGIN }: AwsSettings): KeySource {
  if (isMachineOff)
    throw refuse(
      'Artifacts in a bucket require AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role of the pod, container or machine.',
    );
  if (!/^https?:\/\/[^?#@\s]+$/.test(machineEndpoint) || !URL.canParse(machineEndpoint))
    throw refuse('AWS_EC2_METADATA_SERVICE_ENDPOINT must be a URL like http://169.254.169.254.');
  return { kind: 'machine', endpoint: machineEndpoint.replace(/\/$/, '') };
}

const refuse = (message: string): StartRefusal => new StartRefusal(EXIT_CONFIGURATION, message);

interface CurrentKeys {
  /**
   * Returns valid keys. @throws Refusal STORE_UNAVAILABLE if there are none; an ArtifactStoreFault for a failure that
   * requires other settings
   */
  get(): Promise<StorageKeys>;
  /**
   * Marks keys as expired, so that the next call of `get` requests new ones. Called when the object store reports the
   * expiry. @returns false for fixed keys, which cannot be renewed
   */
  expired(keys: StorageKeys): boolean;
  /** Returns the reason why the last request for keys failed. Returns undefined if it succeeded. */
  fault(): string | undefined;
}

/**
 * Time before their expiry at which temporary keys are renewed. Keys with a shorter lifetime are renewed in their last
 * quarter.
 */
const AHEAD_MS = 300_000;
/** Time before their expiry from which on keys are no longer used. A request takes time to arrive. */
const MARGIN_MS = 5000;
/** Age at which keys without an expiry are read again. A file may contain new keys. */
const UNDATED_MS = 60_000;
/** Delay between two attempts. */
const RETRY_MS = 2000;

/** Keys of this thread by source, shared by all users of the source. */
const keysBySource = new Map<string, CurrentKeys>();

export function createCurrentKeys(source: KeySource): CurrentKeys {
  if (source.kind === 'given') return { get: async () => source, expired: () => false, fault: () => undefined };
  const name = JSON.stringify(source);
  const result = keysBySource.get(name) ?? createRenewedKeys(source);
  keysBySource.set(name, result);
  return result;
}

interface RenewalOptions {
  readonly now?: () => number;
  readonly ask?: (source: QueriedKeySource) => Promise<StorageKeys>;
}

export function createRenewedKeys(
  source: QueriedKeySource,
  { now = Date.now, ask = queryKeys }: RenewalOptions = {},
): CurrentKeys {
  let keys: StorageKeys | undefined;
  /** Time of the next request for keys. */
  let dueAt = 0;
  let failure: Refusal | undefined;
  let pendingRenewal: Promise<StorageKeys> | undefined;

  async function requestKeys(): Promise<StorageKeys> {
    try {
      keys = await ask(source);
      failure = undefined;
      dueAt = now() + computeLifetime(keys, now());
      return keys;
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      failure =
        keys !== undefined || !(thrown instanceof Refusal)
          ? new Refusal('STORE_UNAVAILABLE', `The credentials of the object store cannot be renewed. ${reason}`)
          : thrown;
      dueAt = now() + RETRY_MS;
      throw failure;
    }
  }

  /** Renews the keys; concurrent calls share one renewal. */
  function renew(): Promise<StorageKeys> {
    pendingRenewal ??= requestKeys().finally(() => (pendingRenewal = undefined));
    return pendingRenewal;
  }

  const isValid = ({ expiresAt = Infinity }: StorageKeys): boolean => now() < expiresAt - MARGIN_MS;

  return {
    async get() {
      const isDue = now() >= dueAt;
      if (keys !== undefined && (isValid(keys) || (!isDue && failure === undefined))) {
        if (isDue) renew().catch(() => {}); // `fault` reports the failure, and the next call retries
        return keys;
      }
      if (failure !== undefined && !isDue && pendingRenewal === undefined) throw failure;
      return renew();
    },
    expired(used) {
      if (keys === used) keys = { ...used, expiresAt: 0 };
      if (failure === undefined) dueAt = Math.min(dueAt, now());
      return true;
    },
    fault: () => failure?.message,
  };
}

/** Returns the time for which keys are used before new keys are requested. */
function computeLifetime({ expiresAt }: StorageKeys, now: number): number {
  if (expiresAt === undefined) return UNDATED_MS;
  const remainingMs = expiresAt - now;
  return Math.max(RETRY_MS, remainingMs - Math.min(AHEAD_MS, remainingMs / 4));
}
