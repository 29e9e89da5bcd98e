import { readFile } from 'node:fs/promises';
import { Refusal } from '#domain/refusals/refusal.js';
import { findCode, ArtifactStoreFault } from '../../access/artifact-fault.js';
import { formatReason } from '../request-failure.js';
import type { QueriedKeySource, Keys } from '../../access/key-source.js';
import { readProfile } from './profile.js';

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
export function queryKeys(source: QueriedKeySource): Promise<Keys> {
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

async function requestProfileKeys({ profile, ...files }: SourceOf<'profile'>): Promise<Keys> {
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
}: SourceOf<'web-identity'>): Promise<Keys> {
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

async function requestContainerKeys({ url, token, tokenFile }: SourceOf<'container'>): Promise<Keys> {
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

async function requestMachineKeys({ endpoint }: SourceOf<'machine'>): Promise<Keys> {
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

/** Matches texts that a header may contain. */
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
      `${who} cannot be reached at ${new URL(url).origin}${formatReason('', cause)}.`,
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

function createKeys(who: string, { AccessKeyId, SecretAccessKey, Token, Expiration }: KeyMembers): Keys {
  if (!AccessKeyId || !SecretAccessKey) throw new Refusal('STORE_UNAVAILABLE', `${who} returns no keys.`);
  const expiresAt = Date.parse(Expiration ?? '');
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: Token,
    expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt,
  };
}

/** Parses a JSON response and returns its text members. */
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
