import { z } from 'zod';
import { defineObject, Id, IsoDate } from '../base/schema.js';
import { type Day, toCivilDate } from '../base/time.js';

/** Placeholders of a file name pattern: `{index}`, `{table}`, `{schedule}` and `{date}` or `{date:FORMAT}`. */
const PLACEHOLDER = /\{(index|table|schedule|date)(?::([^{}]+))?\}/g;
/**
 * Matches a date format. `YYYY` is matched as `YY` twice: with a separate alternative, the time to reject a text would
 * grow exponentially.
 */
const DATE_FORMAT = /^(?:YY|MM|DD|[-_.])+$/;

/** File names that every file system and every SFTP server accepts. */
const NAME = /^[A-Za-z0-9._-]{1,200}$/;

/** Returns the reason why a pattern is refused. Returns undefined if it is valid. */
export function checkPattern(pattern: string): string | undefined {
  const problem = describeFormatProblem(pattern);
  if (problem !== undefined) return problem;
  if (isName(pattern)) return undefined;
  return 'a file name consists of letters, digits, dots, dashes, underscores and the placeholders {index}, {table}, {schedule} and {date:YYYYMMDD}';
}

/**
 * Returns the reason why a path pattern is refused. Returns undefined if it is valid. A path pattern consists of
 * folders and a name with placeholders, including {file} and {client}.
 */
function checkPathPattern(pattern: string): string | undefined {
  const problem = describeFormatProblem(pattern);
  if (problem !== undefined) return problem;
  if (
    pattern
      .replaceAll(/\{(?:file|client)\}/g, 'X')
      .split('/')
      .every(isName)
  )
    return undefined;
  return 'is not a valid pattern: a path consists of names between slashes, with letters, digits, dots, dashes, underscores and the placeholders {file}, {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}';
}

function isName(pattern: string): boolean {
  const sample = pattern.replaceAll(PLACEHOLDER, 'X');
  return NAME.test(sample) && !sample.startsWith('.');
}

function describeFormatProblem(pattern: string): string | undefined {
  for (const [whole, name, format] of pattern.matchAll(PLACEHOLDER)) {
    if (format === undefined) continue;
    if (name !== 'date') return `${whole} has a format, which is accepted only for date`;
    if (!DATE_FORMAT.test(format))
      return `${whole} has an invalid format; a format consists of YYYY, YY, MM and DD with - _ or .`;
  }
  return undefined;
}

export interface FileNameTerms {
  readonly schedule: string;
  /** Index of the file; absent for a file of the whole family. */
  readonly index?: string | undefined;
  readonly table: string;
  readonly day: Day;
}

/** Returns the path of a file at a delivery target, according to a pattern. */
export function createPath(
  pattern: string,
  { file, client, ...terms }: FileNameTerms & { readonly file: string; readonly client: string },
): string {
  const pathTerms: Record<string, string> = { file, client };
  return createFileName(pattern, terms).replaceAll(/\{(file|client)\}/g, (_, name: string) => pathTerms[name]!);
}

/** Returns the name of a file according to a pattern. `{date}` without a format is `YYYY-MM-DD`. */
export function createFileName(pattern: string, { schedule, index, table, day }: FileNameTerms): string {
  const values: Record<string, string> = { schedule, table, index: index ?? schedule };
  return pattern.replaceAll(PLACEHOLDER, (_, name: string, format: string | undefined) =>
    name === 'date' ? formatDate(day, format ?? 'YYYY-MM-DD') : values[name]!,
  );
}

function formatDate(date: Day, format: string): string {
  const { year, month, day } = toCivilDate(date);
  const padTwo = (number: number): string => String(number).padStart(2, '0');
  const dateParts: Record<string, string> = {
    YYYY: String(year).padStart(4, '0'),
    YY: padTwo(year % 100),
    MM: padTwo(month),
    DD: padTwo(day),
  };
  return format.replaceAll(/YYYY|YY|MM|DD/g, (part) => dateParts[part]!);
}

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
  path: z
    .string()
    .min(1)
    .max(400)
    .default('{file}')
    .superRefine((pattern, context) => {
      const problem = checkPathPattern(pattern);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    })
    .meta({
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

/** Returns the schema of an address with one of several URL schemes. */
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

const url = defineAddress(['s3'], ({ hostname, username }) =>
  hostname !== '' && username === '' ? undefined : 'must be s3:// and a bucket, optionally with a prefix',
);
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
      description: 'Region. Default: the region of the service.',
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

const callbackUrl = defineAddress(['https', 'http'], ({ username }) =>
  username === '' ? undefined : 'must not contain a user',
);

const callback = defineTargetKind({
  help: 'POST request with the file as its body, signed in the same way as callbacks of jobs. The operator allows hosts by `--callback-hosts`.',
  secret: undefined,
  schema: defineObject(() => ({
    type: z.literal('callback'),
    ...targetFields,
    url: callbackUrl.meta({ description: 'Receiver.', example: 'https://data.acme.example/divisor' }),
  })).meta({ id: 'CallbackTarget' }),
});

const folderUrl = defineAddress(['file'], ({ host, pathname }) =>
  host === '' && pathname !== '/' ? undefined : 'must be file:/// and the absolute path of a folder',
);

const folder = defineTargetKind({
  help: 'Folder on the machine, or a mounted folder. The operator allows folders by `--delivery-roots`.',
  secret: undefined,
  schema: defineObject(() => ({
    type: z.literal('folder'),
    ...targetFields,
    url: folderUrl.meta({ description: 'Folder.', example: 'file:///srv/delivery/acme' }),
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

const sftpUrl = defineAddress(['sftp'], ({ hostname, username }) =>
  hostname !== '' && username !== '' ? undefined : 'must contain the user and the host: sftp://user@host/folder',
);

const sftp = defineTargetKind({
  help: 'Folder of an SFTP server with a known host key. The operator allows hosts by `--delivery-hosts`.',
  secret: 'the password, or the private key in PEM or OpenSSH form without a passphrase',
  schema: defineObject(() => ({
    type: z.literal('sftp'),
    ...targetFields,
    url: sftpUrl.meta({
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

/** Target of a client by its type. */
export type TargetOf<T extends TargetType> = z.infer<(typeof TARGET_CATALOGUE)[T]['schema']>;

export const Target = z.discriminatedUnion('type', [
  folder.schema,
  bucket.schema,
  sftp.schema,
  callback.schema,
  mail.schema,
]);
export type Target = z.infer<typeof Target>;

/**
 * Returns the address to which a stored secret belongs. If the address or the user of a target changes, the secret must
 * be entered again.
 */
export function findSecretOwner(target: Target): string {
  if (target.type === 'sftp') return `${target.url} ${target.host_key}`;
  if (target.type === 'bucket') return [target.url, target.endpoint, target.access_key_id].join(' ');
  return '';
}

export const readSecret = (target: Target): string | null => ('secret' in target ? target.secret : null);

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

/** Client as written by a client of the API. */
export const ClientBody = defineObject(() => ({
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable().default(null),
  enabled: z.boolean().default(true).meta({ description: 'True if files are delivered.' }),
  entitlements: z.array(Entitlement).max(ENTITLEMENTS_MAX).meta({
    description:
      'Files that the client can receive. A file must be covered by one entry. An empty list covers no files.',
  }),
  targets: z.array(Target).max(TARGETS_MAX).default([]).meta({ description: 'Targets to which files are delivered.' }),
})).meta({ id: 'ClientBody' });
export type ClientBody = z.infer<typeof ClientBody>;

/** Client as stored, without its secrets, which are separate documents. */
export const ClientDocument = ClientBody.meta({ id: 'ClientDocument' });
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
  /** Session of the file. */
  readonly date: string;
}

const isIncluded = (list: readonly string[] | null, value: string): boolean => list === null || list.includes(value);

/** Returns true if a client may receive a file. */
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

/** Returns a client without its secrets. */
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
