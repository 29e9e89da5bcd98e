import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readSettings, selectAwsSettings } from '#cli/settings/settings.js';
import { Refusal } from '#domain/base/refusals.js';
import { parseArtifactLocation } from '#store/ownership/artifact-location.js';
import { type AwsSettings, chooseKeys, formatAwsOrigin, createRenewedKeys } from '#store/s3/keys.js';
import type { KeySource } from '#store/port.js';
import { createS3Client, type S3Client } from '#store/s3/client.js';
import { openTemporaryFolders } from '../../temporary-folder.js';
import { IDENTITY_TOKEN, startKeyService, type KeyService } from './key-service.js';

const createFolder = openTemporaryFolders();
let service: KeyService;
let folder: string;
beforeEach(async () => {
  service = await startKeyService();
  folder = await createFolder();
});
afterEach(() => service.stop());

const ROLE = 'arn:aws:iam::111122223333:role/divisor';
type Environment = Readonly<Record<string, string>>;

const readKeySettings = (environment: Environment): AwsSettings =>
  selectAwsSettings(
    readSettings([], { AWS_SHARED_CREDENTIALS_FILE: '/dev/null/a', AWS_CONFIG_FILE: '/dev/null/b', ...environment })
      .settings,
  );
const chooseSource = (environment: Environment): KeySource => chooseKeys(readKeySettings(environment)).keys;

function createClient(keys: KeySource, patienceMs = 0): S3Client {
  const access = { endpoint: service.origin, region: 'us-east-1', bucket: 'bucket', prefix: '', keys };
  return createS3Client(access, { patienceMs });
}

const read = (client: S3Client): Promise<string | undefined> => client.get('object', ({ body }) => text(body));

const catchRefusal = async (work: Promise<unknown>): Promise<string> => {
  const thrown: unknown = await work.catch((reason: unknown) => reason);
  expect(thrown).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  return `${(thrown as Error).stack} ${JSON.stringify(thrown)} ${String((thrown as Error).cause)}`;
};

async function writeKeyFile(name: string, content: string): Promise<string> {
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

test('keys are read from the first given source: keys, an identity, a profile, the container, the machine', async () => {
  const credentialsFile = await writeKeyFile(
    'credentials',
    '[default]\naws_access_key_id = A\naws_secret_access_key = B\n',
  );
  const sources: readonly (readonly [Environment, KeySource['kind']])[] = [
    [{ AWS_ACCESS_KEY_ID: 'A', AWS_SECRET_ACCESS_KEY: 'B' }, 'given'],
    [{ AWS_WEB_IDENTITY_TOKEN_FILE: '/token', AWS_ROLE_ARN: ROLE }, 'web-identity'],
    [{ AWS_SHARED_CREDENTIALS_FILE: credentialsFile }, 'profile'],
    [{ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/1' }, 'container'],
    [{}, 'machine'],
  ];
  for (const [i, [, kind]] of sources.entries())
    expect(chooseSource(Object.assign({}, ...sources.slice(i).map(([settings]) => settings)) as Environment).kind).toBe(
      kind,
    );
  expect(
    chooseSource({
      AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/1',
      AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1/x',
    }),
  ).toMatchObject({
    url: 'http://169.254.170.2/v2/1',
  });
  expect(
    chooseSource({ AWS_WEB_IDENTITY_TOKEN_FILE: '/t', AWS_ROLE_ARN: ROLE, AWS_REGION: 'cn-north-1' }),
  ).toMatchObject({
    endpoint: 'https://sts.cn-north-1.amazonaws.com.cn',
  });
});

test('an incomplete source, or one that sends a token to another host, is refused with its setting', async () => {
  const credentialsFile = await writeKeyFile('credentials', '[other]\naws_access_key_id = A\n');
  const refusals: readonly (readonly [Environment, RegExp])[] = [
    [{ AWS_ACCESS_KEY_ID: 'A' }, /both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/],
    [{ AWS_WEB_IDENTITY_TOKEN_FILE: '/t' }, /AWS_ROLE_ARN/],
    [{ AWS_WEB_IDENTITY_TOKEN_FILE: '/t', AWS_ROLE_ARN: ROLE, AWS_ENDPOINT_URL_STS: 'sts' }, /AWS_ENDPOINT_URL_STS/],
    [{ AWS_PROFILE: 'gone', AWS_SHARED_CREDENTIALS_FILE: credentialsFile }, /profile gone of AWS_PROFILE/],
    [{ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://example.com/keys' }, /AWS_CONTAINER_CREDENTIALS_FULL_URI/],
    [{ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.169.254/keys' }, /AWS_CONTAINER_CREDENTIALS_FULL_URI/],
    [{ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: 'keys' }, /AWS_CONTAINER_CREDENTIALS_RELATIVE_URI/],
    [{ AWS_EC2_METADATA_DISABLED: 'TRUE' }, /a profile, or a role of the pod/],
    [{ AWS_EC2_METADATA_SERVICE_ENDPOINT: 'x' }, /AWS_EC2_METADATA_SERVICE_ENDPOINT/],
  ];
  for (const [settings, words] of refusals) expect(() => chooseSource(settings)).toThrow(words);
  for (const containerUrl of [
    'https://keys.example/1',
    'http://169.254.170.23/v1/credentials',
    'http://[::1]:81/',
    'http://[fd00:ec2::23]/v1',
  ])
    expect(chooseSource({ AWS_CONTAINER_CREDENTIALS_FULL_URI: containerUrl }).kind).toBe('container');
});

test('a profile has keys and region in either file, the credentials file first, and new keys once the file has them', async () => {
  const configFile = await writeKeyFile(
    'config',
    '# by hand\n[profile  desk]\nregion = eu-west-1\naws_access_key_id=OLD\ns3 =\n  aws_access_key_id = nested\n[default]\nregion=us-west-2\n[profile sso]\nsso_session = x\n',
  );
  const formatKeysFile = (n: number): string =>
    `[desk]\r\naws_access_key_id = AKIA${n}\r\naws_secret_access_key=a/b+=c${n}\r\n`;
  const credentialsFile = await writeKeyFile('credentials', formatKeysFile(1));
  const files = { AWS_CONFIG_FILE: configFile, AWS_SHARED_CREDENTIALS_FILE: credentialsFile };
  const place = parseArtifactLocation({
    url: 's3://bucket/prefix',
    cache: { folder, bytesMax: 1 },
    aws: readKeySettings({ ...files, AWS_PROFILE: 'desk' }),
  });
  expect(place).toMatchObject({
    access: { region: 'eu-west-1', endpoint: 'https://s3.eu-west-1.amazonaws.com', keys: { kind: 'profile' } },
  });
  expect(chooseKeys(readKeySettings({ ...files, AWS_DEFAULT_REGION: 'eu-north-1', AWS_PROFILE: 'desk' })).region).toBe(
    'eu-north-1',
  );
  expect(chooseKeys(readKeySettings(files))).toMatchObject({ region: 'us-west-2', keys: { kind: 'machine' } });
  // A store outside AWS may have any region; a host of AWS cannot contain it.
  const given = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'key', AWS_REGION: 'Zone_1/x' };
  expect(chooseKeys(readKeySettings(given)).region).toBe('Zone_1/x');
  expect(() => formatAwsOrigin('s3', 'Zone_1/x')).toThrow(/AWS_REGION.*"Zone_1\/x"/);
  expect(() => chooseSource({ ...files, AWS_PROFILE: 'sso' })).toThrow(/uses sso_session, which is not supported/);
  let now = 0;
  const current = createRenewedKeys(
    { kind: 'profile', profile: 'desk', configFile, credentialsFile },
    { now: () => now },
  );
  expect(await current.get()).toMatchObject({ accessKeyId: 'AKIA1', secretAccessKey: 'a/b+=c1' });
  await writeKeyFile('credentials', formatKeysFile(2));
  now += 60_000;
  await current.get();
  await new Promise((resolve) => setImmediate(resolve));
  expect(await current.get()).toMatchObject({ accessKeyId: 'AKIA2', secretAccessKey: 'a/b+=c2' });
});

test('a role by a token file, an agent of containers and the metadata of the machine each sign requests', async () => {
  const tokenFile = await writeKeyFile('token', `${IDENTITY_TOKEN}\n`);
  const agentToken = await writeKeyFile('agent', 'Basic of-the-agent');
  const sts = chooseSource({
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    AWS_ROLE_ARN: ROLE,
    AWS_ROLE_SESSION_NAME: 'front-1',
    AWS_ENDPOINT_URL_STS: service.origin,
  });
  expect(await read(createClient(sts))).toBe('content');
  const [asked = ''] = service.asked;
  expect(Object.fromEntries(new URLSearchParams(asked.replace('POST / ', '')))).toEqual({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: ROLE,
    RoleSessionName: 'front-1',
    WebIdentityToken: IDENTITY_TOKEN,
  });
  const containerUrl = `${service.origin}/v1/credentials`;
  await read(
    createClient(
      chooseSource({
        AWS_CONTAINER_CREDENTIALS_FULL_URI: containerUrl,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: agentToken,
      }),
    ),
  );
  await read(
    createClient(
      chooseSource({ AWS_CONTAINER_CREDENTIALS_FULL_URI: containerUrl, AWS_CONTAINER_AUTHORIZATION_TOKEN: 'plain' }),
    ),
  );
  await read(createClient(chooseSource({ AWS_EC2_METADATA_SERVICE_ENDPOINT: `${service.origin}/` })));
  expect(service.asked.slice(1)).toEqual([
    'GET /v1/credentials Basic of-the-agent',
    'GET /v1/credentials plain',
    'PUT /latest/api/token',
    'GET /latest/meta-data/iam/security-credentials/ AQAEAN-token-of-the-machine==',
    'GET /latest/meta-data/iam/security-credentials/divisor-role AQAEAN-token-of-the-machine==',
  ]);
  expect(service.signed).toEqual(['ASIA1 session-1', 'ASIA2 session-2', 'ASIA3 session-3', 'ASIA4 session-4']);
});

test('concurrent callers share one request for keys, which is repeated before and at their expiry', async () => {
  const keys = chooseSource({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${service.origin}/a` });
  const [one, other] = [createClient(keys, 2000), createClient(keys, 2000)];
  await Promise.all([read(one), read(other), read(one)]);
  expect(service.asked.length).toBe(1);
  service.objectRefusal = 'ExpiredToken';
  expect(await read(other)).toBe('content');
  expect([service.asked.length, service.signed.at(-1)]).toEqual([2, 'ASIA2 session-2']);
});

test('a failed renewal is reported and retried while the keys are valid; after their expiry the object store is unavailable until one succeeds', async () => {
  let now = 0;
  let fails = false;
  let calls = 0;
  const source = { kind: 'container', url: 'http://127.0.0.1/' } as const;
  const ask = async () => {
    calls++;
    if (fails) throw new Refusal('STORE_UNAVAILABLE', 'The agent answers 500.');
    return { accessKeyId: `A${calls}`, secretAccessKey: 'S', expiresAt: now + 3_600_000 };
  };
  const keys = createRenewedKeys(source, { now: () => now, ask });
  const resolveKeyIdAt = async (time: number): Promise<string> => {
    now = time;
    const { accessKeyId } = await keys.get();
    await new Promise((resolve) => setImmediate(resolve));
    return accessKeyId;
  };
  expect([await resolveKeyIdAt(0), await resolveKeyIdAt(3_299_999), calls]).toEqual(['A1', 'A1', 1]);
  fails = true;
  expect([await resolveKeyIdAt(3_300_000), calls]).toEqual(['A1', 2]);
  expect(keys.fault()).toBe('The credentials of the object store cannot be renewed. The agent answers 500.');
  expect([await resolveKeyIdAt(3_301_999), calls]).toEqual(['A1', 2]);
  expect([await resolveKeyIdAt(3_302_000), calls]).toEqual(['A1', 3]);
  expect([await resolveKeyIdAt(3_594_999), calls]).toEqual(['A1', 4]);
  await expect(resolveKeyIdAt(3_595_000)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect(calls).toBe(4);
  await expect(resolveKeyIdAt(3_596_999)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  fails = false;
  expect([await resolveKeyIdAt(3_599_000), keys.fault(), calls]).toEqual(['A6', undefined, 6]);
});

test('a source without keys is reported with its status and code, without keys or tokens', async () => {
  const tokenFile = await writeKeyFile('token', IDENTITY_TOKEN);
  const containerTokenFile = await writeKeyFile('agent', 'SECRET-OF-MINE');
  const createIdentity = (sessionName: string) =>
    createClient(
      chooseSource({
        AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
        AWS_ROLE_ARN: ROLE,
        AWS_ROLE_SESSION_NAME: sessionName,
        AWS_ENDPOINT_URL_STS: service.origin,
      }),
    );
  const authenticateInContainer = (path: string) =>
    createClient(
      chooseSource({
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${service.origin}/${path}`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: containerTokenFile,
      }),
    );
  const words: string[] = [];
  const expectRefusal = async (client: S3Client, pattern: RegExp): Promise<void> => {
    words.push(await catchRefusal(read(client)));
    expect(words.at(-1)).toMatch(pattern);
  };
  service.refusal = [400, 'InvalidIdentityToken'];
  await expectRefusal(
    createIdentity('a'),
    /keys for the role arn:aws:iam::111122223333:role\/divisor answers 400 InvalidIdentityToken/,
  );
  service.refusal = [503, 'ServiceUnavailable'];
  await expectRefusal(createIdentity('b'), /answers 503 ServiceUnavailable/);
  service.refusal = [400, 'AccessDenied'];
  await expectRefusal(authenticateInContainer('c'), /agent with the keys of this container answers 400 AccessDenied/);
  service.refusal = [404, 'x'];
  await expectRefusal(
    createClient(chooseSource({ AWS_EC2_METADATA_SERVICE_ENDPOINT: service.origin })),
    /metadata service of this machine answers 404/,
  );
  await writeKeyFile('agent', 'SECRET-OF-MINE\nsecond: line');
  await expectRefusal(authenticateInContainer('d'), /must contain one line/);
  service.isSilent = true;
  const silentClient = createClient(chooseSource({ AWS_EC2_METADATA_SERVICE_ENDPOINT: `${service.origin}/silent` }));
  await expectRefusal(
    silentClient,
    /metadata service of this machine cannot be reached at http:\/\/127\.0\.0\.1:\d+: it does not answer/,
  );
  await rm(tokenFile);
  await expectRefusal(createIdentity('e'), /AWS_WEB_IDENTITY_TOKEN_FILE cannot be read: ENOENT/);
  expect(words.join('\n')).not.toMatch(/OF-MINE|of-the-pod|secret/i);
});
