import { z } from 'zod';
import { defineObject, Id, IsoDate } from '../base/schema.js';
import {
  checkPathPattern,
  findRegionProblem,
  parseBucketAddress,
  parseFolderAddress,
  parseSftpAddress,
} from './target-addresses.js';

/** Kind of target. The code that writes to it is in `src/services/delivery/targets/`. */
export interface TargetKind<T> {
  readonly schema: z.ZodType<T>;
  /** Sentence for the guide and the contract. */
  readonly help: string;
  /** Description of the secret of a target; undefined for a kind without a secret. */
  readonly secret: string | undefined;
}

/** Returns a kind of target and keeps its literal types. */
const defineTargetKind = <const K extends TargetKind<unknown>>(kind: K): K => kind;

const TABLES_MAX = 32;
const SECRET_LENGTH_MAX = 20_000;

/** Tables whose files a target receives, named as in export steps; `report` is the output of a render step. */
const FileTables = z
  .array(z.string().min(1).max(64))
  .min(1)
  .max(TABLES_MAX)
  .nullable()
  .default(null)
  .meta({ example: ['closing', 'report'] });

/** Members of every kind of target. */
const targetFields = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, {
      error: 'must be 1 to 32 lower-case letters, digits and dashes, such as ftp-main',
    })
    .meta({ description: 'Name of the target, unique among the targets of the client.', example: 'house' }),
  tables: FileTables.meta({
    description:
      'Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive.',
  }),
};

/** Members of a kind of target that stores files under names. */
const storedFields = {
  path: z.string().min(1).max(400).default('{file}').meta({
    description:
      'Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}.',
    example: '{date:YYYY}/{file}',
  }),
  checksum: z.boolean().default(true).meta({
    description: 'True writes a file NAME.sha256 after each file, in the format of sha256sum.',
  }),
};

/** Secret, which is stored encrypted and never shown. */
const secretField = z.string().min(1).max(SECRET_LENGTH_MAX).nullable().default(null).meta({ writeOnly: true });

const defineAddress = (schemes: readonly string[], problemOf: (url: URL) => string | undefined) =>
  z
    .string()
    .max(1000)
    .superRefine((text, context) => {
      const url = URL.canParse(text) ? new URL(text) : undefined;
      const isKnown = url !== undefined && schemes.includes(url.protocol.slice(0, -1));
      const problem = isKnown
        ? (describeCredentials(url) ?? problemOf(url))
        : `must be an address that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`;
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    });

const describeCredentials = ({ password, search, hash }: URL): string | undefined => {
  if (password !== '') return 'must not contain a password; the password is the secret of the target';
  return search === '' && hash === '' ? undefined : 'must have no query and no fragment';
};

/** Address that `listTargetProblems` checks. */
const url = z.string().max(1000);
const endpoint = defineAddress(['https', 'http'], ({ pathname, username }) =>
  pathname === '/' && username === '' ? undefined : 'must be an origin, such as https://s3.eu-central-1.amazonaws.com',
);

const bucket = defineTargetKind({
  help: 'Bucket of an S3-compatible object store. The service uses the keys of the client on a host of `--delivery-hosts`, or the keys of the service for a bucket of `--delivery-buckets`.',
  secret: 'the secret access key of `access_key_id`',
  schema: defineObject(() => ({
    type: z.literal('bucket'),
    ...targetFields,
    url: url.meta({ description: 'Bucket and prefix.', example: 's3://acme-in/indices' }),
    region: z.string().min(1).max(64).nullable().default(null).meta({
      description:
        'Region: lower-case letters, digits and single dashes, such as eu-central-1. Default: the region of the service.',
    }),
    endpoint: endpoint.nullable().default(null).meta({
      description: 'Origin of a store outside AWS. Default: the origin of the service; with a region, AWS.',
    }),
    access_key_id: z.string().min(1).max(200).nullable().default(null).meta({
      description: 'Access key of the client. Default: the keys of the service.',
    }),
    secret: secretField.meta({ description: 'Secret of the access key.' }),
    ...storedFields,
  })).meta({ id: 'BucketTarget' }),
});

/** Secret that signs messages, in the form of Standard Webhooks. */
export const SIGNING_SECRET = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/;

/** Returns the one or two signing secrets of a text. Returns none if the text has another form. */
export function readSigningSecrets(text: string): readonly string[] {
  const secrets = text.split(',').map((secret) => secret.trim());
  return secrets.length <= 2 && secrets.every((secret) => SIGNING_SECRET.test(secret)) ? secrets : [];
}

const callbackUrl = defineAddress(['https', 'http'], ({ username }) =>
  username === '' ? undefined : 'must not contain a user',
);

const callback = defineTargetKind({
  help: 'POST request with the file as its body, signed in the same way as callbacks of jobs, with a secret of the target. The operator allows hosts by `--callback-hosts`.',
  secret:
    'a secret that signs its requests: `whsec_` and 24 to 64 bytes in base64, different for each target, or two of them separated by a comma during a rotation',
  schema: defineObject(() => ({
    type: z.literal('callback'),
    ...targetFields,
    url: callbackUrl.meta({ description: 'Receiver.', example: 'https://data.acme.example/divisor' }),
    secret: secretField.meta({
      description: 'Secret that signs the requests, known only to the receiver of this target.',
    }),
  })).meta({ id: 'CallbackTarget' }),
});

const folder = defineTargetKind({
  help: 'Folder on the machine, or a mounted folder. The operator allows folders by `--delivery-roots`.',
  secret: undefined,
  schema: defineObject(() => ({
    type: z.literal('folder'),
    ...targetFields,
    url: url.meta({ description: 'Folder.', example: 'file:///srv/delivery/acme' }),
    ...storedFields,
  })).meta({ id: 'FolderTarget' }),
});

const RECIPIENTS_MAX = 50;
const Address = z
  .string()
  .max(254)
  .regex(/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)+$/, {
    error: 'must be an address, such as desk@acme.example',
  });

const mail = defineTargetKind({
  help: 'Mail with the files attached. The operator sets the server by `DIVISOR_SMTP_URL` and `--smtp-from`, and the domains of recipients by `--mail-domains`.',
  secret: undefined,
  schema: defineObject(() => ({
    type: z.literal('mail'),
    ...targetFields,
    tables: FileTables.default(['report']).meta({ description: 'Tables whose files are sent. Default: reports.' }),
    to: z
      .array(Address)
      .min(1)
      .max(RECIPIENTS_MAX)
      .meta({ description: 'Recipients.', example: ['desk@acme.example'] }),
    subject: z
      .string()
      .min(1)
      .max(200)
      .regex(/^[^\p{Cc}]*$/u, { error: 'must be a single line' })
      .default('{schedule} {date}')
      .meta({ description: 'Subject with {client}, {schedule} and {date:YYYY-MM-DD}.' }),
  })).meta({ id: 'MailTarget' }),
});

const sftp = defineTargetKind({
  help: 'Folder of an SFTP server with a known host key. The operator allows hosts by `--delivery-hosts`.',
  secret: 'the password, or the private key in PEM or OpenSSH form without a passphrase',
  schema: defineObject(() => ({
    type: z.literal('sftp'),
    ...targetFields,
    url: url.meta({
      description: 'Server, user and folder. The path begins at the root of the server; /~/ is the folder of the user.',
      example: 'sftp://divisor@sftp.acme.example/in',
    }),
    host_key: z
      .string()
      .regex(/^SHA256:[A-Za-z0-9+/]{43}=?$/, { error: 'must be a fingerprint: SHA256: and 43 characters' })
      .meta({
        description:
          'Fingerprint of the host key, as printed by `ssh-keygen -lf`. A server with another key is refused.',
        example: 'SHA256:uNiVztksCsDhcc0u9e8BrrJhl0ekTBVbgA0lL0p9xRE',
      }),
    secret: secretField.meta({ description: 'Password or private key.' }),
    ...storedFields,
  })).meta({ id: 'SftpTarget' }),
});

/** All kinds of targets. The build fails if a kind has no sender (`src/services/delivery/targets.ts`). */
export const TARGET_CATALOGUE = { folder, bucket, sftp, callback, mail } as const;

export type TargetType = keyof typeof TARGET_CATALOGUE;

export type TargetOf<T extends TargetType> = z.infer<(typeof TARGET_CATALOGUE)[T]['schema']>;

export const DeliveryTarget = z.discriminatedUnion('type', [
  folder.schema,
  bucket.schema,
  sftp.schema,
  callback.schema,
  mail.schema,
]);
export type DeliveryTarget = z.infer<typeof DeliveryTarget>;

/** Problem of a field of a target. The message is the end of a sentence about the field. */
interface TargetProblem {
  readonly field: 'url' | 'path' | 'region' | 'access_key_id';
  readonly value: string | null;
  readonly message: string;
}

/** Characters that cannot end a value of the header `Authorization`, which contains the access key. */
const ACCESS_KEY = /^[!-+.0-<>-~-]+$/;
const ACCESS_KEY_FORM = 'must consist of visible ASCII characters other than , / and =';

const ADDRESS_PARSERS = { bucket: parseBucketAddress, folder: parseFolderAddress, sftp: parseSftpAddress };

/**
 * Lists the problems of the address, the path, the region and the access key of a target, whatever the settings of the
 * service. Stored targets may have some, because earlier releases accepted more.
 */
export function listTargetProblems(target: DeliveryTarget): readonly TargetProblem[] {
  if (target.type === 'callback' || target.type === 'mail') return [];
  const [region, accessKey] = target.type === 'bucket' ? [target.region, target.access_key_id] : [null, null];
  const problems = [
    ['url', target.url, ADDRESS_PARSERS[target.type](target.url).problem],
    ['path', target.path, checkPathPattern(target.path)],
    ['region', region, region === null ? undefined : findRegionProblem(region)],
    ['access_key_id', accessKey, accessKey === null || ACCESS_KEY.test(accessKey) ? undefined : ACCESS_KEY_FORM],
  ] as const;
  return problems.flatMap(([field, value, message]) => (message === undefined ? [] : [{ field, value, message }]));
}

/**
 * Returns the address to which a stored secret belongs. If the address or the user of a target changes, the secret must
 * be entered again.
 */
export function findSecretOwner(target: DeliveryTarget): string {
  if (target.type === 'sftp') return `${target.url} ${target.host_key}`;
  if (target.type === 'bucket') return [target.url, target.endpoint, target.access_key_id].join(' ');
  if (target.type === 'callback') return target.url;
  return '';
}

export const readSecret = (target: DeliveryTarget): string | null => ('secret' in target ? target.secret : null);

const ENTITLEMENTS_MAX = 100;
const ENTITLED_MAX = 1000;
const TARGETS_MAX = 20;

/** Files that a client may receive, with the first and last session. */
export const Entitlement = defineObject(() => ({
  indices: z
    .array(Id)
    .min(1)
    .max(ENTITLED_MAX)
    .nullable()
    .default(null)
    .meta({ description: 'Indices of the files. Default: every index.', example: ['LARGE-100'] }),
  tables: FileTables.meta({ description: 'Tables of the files. `report` is a rendered report. Default: every file.' }),
  starts_on: IsoDate.nullable().default(null).meta({ description: 'First session of the files. Default: no limit.' }),
  ends_on: IsoDate.nullable().default(null).meta({ description: 'Last session of the files. Default: no limit.' }),
})).meta({ id: 'Entitlement' });
export type Entitlement = z.infer<typeof Entitlement>;

const clientFields = defineObject(() => ({
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable().default(null),
  enabled: z.boolean().default(true).meta({ description: 'True if files are delivered.' }),
  entitlements: z.array(Entitlement).max(ENTITLEMENTS_MAX).meta({
    description:
      'Files that the client can receive. A file must be covered by one entry. An empty list covers no files.',
  }),
  targets: z
    .array(DeliveryTarget)
    .max(TARGETS_MAX)
    .default([])
    .meta({ description: 'Targets to which files are delivered.' }),
}));

/** Client as written by a client of the API. */
export const ClientBody = clientFields
  .superRefine(({ targets }, context) => {
    for (const [t, target] of targets.entries())
      for (const { field, message } of listTargetProblems(target))
        context.addIssue({ code: 'custom', path: ['targets', t, field], message });
  })
  .meta({ id: 'ClientBody' });
export type ClientBody = z.infer<typeof ClientBody>;

/** Client as stored, without its secrets, which are separate documents. */
export const ClientDocument = clientFields.meta({ id: 'ClientDocument' });
export type ClientDocument = z.infer<typeof ClientDocument>;

/** Encrypted secrets of a client, by target. Each secret is valid for only one address. */
export const ClientSecrets = defineObject(() => ({
  client_id: z.string(),
  secrets: z.record(z.string(), z.strictObject({ owner: z.string(), sealed: z.string() })),
}));
export type ClientSecrets = z.infer<typeof ClientSecrets>;

/** File of a day, with the properties by which a client may receive it. */
export interface EntitledFile {
  readonly index: string;
  readonly table: string;
  readonly date: string;
}

const isIncluded = (list: readonly string[] | null, value: string): boolean => list === null || list.includes(value);

export const isEntitled = (
  { entitlements }: Pick<ClientDocument, 'entitlements'>,
  { index, table, date }: EntitledFile,
): boolean =>
  entitlements.some(
    ({ indices, tables, starts_on: start, ends_on: end }) =>
      isIncluded(indices, index) &&
      isIncluded(tables, table) &&
      (start === null || start <= date) &&
      (end === null || date <= end),
  );

export const removeSecrets = (client: ClientBody): ClientDocument => ({
  ...client,
  targets: client.targets.map((target) => ('secret' in target ? { ...target, secret: null } : target)),
});

/** States of a delivered file. `sending`: an attempt has begun. If its process ends, the attempt has no result. */
export const DELIVERY_STATES = ['waiting', 'sending', 'delivered', 'failed'] as const;

export const DeliveredFile = defineObject(() => ({
  target: z.string().meta({ description: 'Name of the target.' }),
  path: z.string().meta({ description: 'Path or name at the target.' }),
  file: z.string().meta({ description: 'Name of the file of the day.' }),
  index_id: z.string(),
  table: z.string().meta({ description: 'Table of the file; `report` for a rendered report.' }),
  bytes: z.int().min(0),
  sha256: z.string(),
  state: z.enum(DELIVERY_STATES).meta({ description: 'Result so far.' }),
  attempts: z.int().min(0).meta({ description: 'Number of attempts to deliver the file.' }),
  rounds: z.int().min(0).meta({ description: 'Number of attempts of the day in which the delivery was attempted.' }),
  delivered_at: z.string().nullable().meta({ description: 'Time of the delivery.' }),
  code: z.string().nullable().meta({ description: 'Error code of the last failure.' }),
  message: z.string().meta({ description: 'Description of the result in a sentence.' }),
})).meta({ id: 'DeliveredFile' });
export type DeliveredFile = z.infer<typeof DeliveredFile>;

const DeliveryLine = defineObject(() => ({
  at: z.string().meta({ description: 'Time of the line.' }),
  target: z.string().meta({ description: 'Name of the target.' }),
  path: z.string().nullable().meta({ description: 'File of the line; null for the whole target.' }),
  message: z.string(),
})).meta({ id: 'DeliveryLine' });
export type DeliveryLine = z.infer<typeof DeliveryLine>;

/** Deliveries to a client on a day of a schedule. */
export const DeliveryRecord = defineObject(() => ({
  client_id: z.string(),
  schedule_id: z.string(),
  date: IsoDate.meta({ description: 'Session.' }),
  version: z.int().min(1).nullable().meta({ description: 'Version of the client that determines its entitlements.' }),
  files: z.array(DeliveredFile).meta({ description: 'Files by target.' }),
  log: z.array(DeliveryLine).meta({ description: 'Attempts and results, the last 500 lines.' }),
})).meta({ id: 'DeliveryRecord' });
export type DeliveryRecord = z.infer<typeof DeliveryRecord>;

/** Maximum number of stored lines per record. */
export const DELIVERY_LINES_MAX = 500;
