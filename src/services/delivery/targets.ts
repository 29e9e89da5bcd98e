import { createHash } from 'node:crypto';
import { constants, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client, Done, Sftp } from 'ssh2';
import { type HostPort, maskUrlPasswords, parseHostPort } from '#base/addresses.js';
import { callOnce } from '#base/once.js';
import { findBundlePath } from '#bundle';
import { LIMITS } from '#domain/base/limits.js';
import { type ErrorCode, isStoreUnavailable, Refusal } from '#domain/base/refusals.js';
import { parseValidDay } from '#domain/base/time.js';
import {
  listTargetProblems,
  readSigningSecrets,
  type DeliveryTarget,
  type TargetOf,
  type TargetType,
} from '#domain/definition/delivery.js';
import {
  type BucketAddress,
  createPath,
  isBelowBucket,
  type Parsed,
  parseBucketAddress,
  parseFolderAddress,
  parseSftpAddress,
  SFTP_PORT,
  type SftpAddress,
} from '#domain/definition/target-addresses.js';
import { ArtifactStoreFault } from '#store/artifacts/artifact.js';
import type { KeySource, S3Access } from '#store/port.js';
import { createS3Client } from '#store/s3/client.js';
import { formatAwsOrigin } from '#store/s3/keys.js';
import { StartRefusal } from '#store/start-refusal.js';
import type { CallbackDestinations, SignedPostSender } from './callbacks.js';

export interface OutgoingFile {
  readonly path: string;
  readonly media: string;
  readonly bytes: number;
  readonly sha256: string;
  /** True if an attempt was started and its result is unknown. */
  readonly isUncertain: boolean;
  content(): Promise<Uint8Array>;
}

/** Files for one target, and their outcomes. */
export interface SendJob<T> {
  readonly target: T;
  readonly secret: string | undefined;
  readonly client: string;
  readonly schedule: string;
  readonly date: string;
  readonly files: readonly OutgoingFile[];
  readonly signal: AbortSignal;
  /** Records the start of an attempt before anything is sent. */
  begin(file: OutgoingFile): Promise<void>;
  delivered(file: OutgoingFile, message: string): Promise<void>;
  failed(file: OutgoingFile, fault: DeliveryFault): Promise<void>;
}

/**
 * Function that sends files to one kind of target and reports each result. A file is not sent if the target already has
 * it with the same content.
 * @throws DeliveryFault if the target cannot be used; every file without a result has then failed
 */
export type FileSender<T extends TargetType> = (job: SendJob<TargetOf<T>>) => Promise<void>;

export class DeliveryFault extends Error {
  override readonly name = 'DeliveryFault';
  /** True if an attempt can succeed only after somebody changes something. */
  readonly isFinal: boolean;
  readonly code = 'DELIVERY_FAILED' satisfies ErrorCode;

  constructor(
    message: string,
    { isFinal = false, cause }: { readonly isFinal?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.isFinal = isFinal;
  }
}

const readFileName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
const readFolder = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** Returns a temporary name for a file that is being written. Readers do not look for such names. */
const formatPartName = ({ path, sha256 }: Pick<OutgoingFile, 'path' | 'sha256'>): string =>
  `.${readFileName(path)}.${sha256.slice(0, 12)}.part`;

/** Returns the content of the file NAME.sha256, in the format that `sha256sum --check` reads. */
const computeChecksum = ({ path, sha256 }: Pick<OutgoingFile, 'path' | 'sha256'>): string =>
  `${sha256}  ${readFileName(path)}\n`;

const SENT_MESSAGE = 'Delivered.';
const REPLACED_MESSAGE = 'Delivered in place of another version.';
const PRESENT_MESSAGE = 'The same file was there already.';

/** Delivers the files one after another. If one file fails, the next files are still delivered. */
async function sendEachFile<T>(
  { files, signal, delivered, failed }: SendJob<T>,
  send: (file: OutgoingFile) => Promise<string>,
): Promise<void> {
  for (const file of files) {
    signal.throwIfAborted();
    try {
      await delivered(file, await send(file));
    } catch (failure) {
      if (!(failure instanceof DeliveryFault) || signal.aborted) throw failure;
      await failed(file, failure);
    }
  }
}

/** Object store in the settings of the service. The bucket is not part of it. */
export interface BucketService {
  /** Origin of a store outside AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** Returns the keys of the service. @throws StartRefusal if it has none */
  keys(): KeySource;
}

export interface DeliveryDestinationOptions {
  /** Folders that may receive files. */
  readonly roots: readonly string[];
  /** Permitted hosts: `host` for the port of the scheme, or `host:port`. */
  readonly hosts: readonly string[];
  /** Permitted buckets: `s3://bucket` or `s3://bucket/prefix`. The service writes to them with its own keys. */
  readonly buckets: readonly string[];
  readonly callbacks: Pick<CallbackDestinations, 'findProblem'>;
  /** True if a mail server is configured. */
  readonly hasMail: boolean;
  readonly mailDomains: readonly string[];
  /** Returns the object store of the service. @throws StartRefusal if its settings are invalid */
  readonly bucketService: () => BucketService;
}

export interface DeliveryDestinations {
  /** Returns the reason why deliveries to a target are not permitted; undefined if they are permitted. */
  findProblem(target: DeliveryTarget): string | undefined;
  /** Returns the access data for the bucket of a target. @param secret secret of the client's key */
  createAccess(target: TargetOf<'bucket'>, secret: string | undefined): S3Access;
  /**
   * Checks that a folder is inside a folder that the operator permits. Links are resolved first. @throws DeliveryFault
   */
  assertFolder(path: string): Promise<void>;
}

type BucketConnection = Pick<S3Access, 'endpoint' | 'region' | 'keys'>;

/** Returns a parsed address. @throws DeliveryFault for a stored address that is no longer accepted */
function requireAddress<T>(parsed: Parsed<T>): T {
  if (parsed.problem !== undefined)
    throw new DeliveryFault(`The address of the target ${parsed.problem}.`, { isFinal: true });
  return parsed as T; // without a problem it is an address
}

const readFolderPath = ({ url }: TargetOf<'folder'>): string =>
  fileURLToPath(`file:///${requireAddress(parseFolderAddress(url)).folders.map(encodeURI).join('/')}`);

const HTTPS_PORT = 443;
const HTTP_PORT = 80;

export function createDeliveryDestinations(options: DeliveryDestinationOptions): DeliveryDestinations {
  const { roots, hosts, buckets, callbacks, hasMail, mailDomains, bucketService } = options;
  const domains = new Set(mailDomains.map((domain) => domain.toLowerCase()));
  const allowedBuckets = buckets.map((text) => requireAddress<BucketAddress>(parseBucketAddress(text)));

  function findHostProblem({ host, port }: HostPort, defaultPort: number): string | undefined {
    const isAllowed = hosts.some((allowedHost) => {
      const allowedHostPort = parseHostPort(allowedHost, defaultPort);
      return allowedHostPort?.host === host && allowedHostPort.port === port;
    });
    return isAllowed
      ? undefined
      : `The host ${host} is none of those the operator allows (--delivery-hosts, DIVISOR_DELIVERY_HOSTS).`;
  }

  /**
   * Returns the object store of a bucket. The keys of the service are used with its own origin only. The keys of a
   * client are used with the origin of the target, with AWS in the region of the target, or with the origin of the
   * service.
   * @throws StartRefusal if settings of the service that the target needs are missing or invalid
   */
  function connectBucket(target: TargetOf<'bucket'>, secret: string | undefined): BucketConnection {
    const { access_key_id: accessKeyId, region } = target;
    const endpoint = target.endpoint === null ? undefined : new URL(target.endpoint).origin;
    if (accessKeyId === null) {
      const service = bucketService();
      const ownRegion = region ?? service.region;
      const ownEndpoint = service.endpoint ?? formatAwsOrigin('s3', ownRegion);
      return { endpoint: ownEndpoint, region: ownRegion, keys: service.keys() };
    }
    const keys: KeySource = { kind: 'given', accessKeyId, secretAccessKey: secret ?? '', sessionToken: undefined };
    if (region !== null) return { endpoint: endpoint ?? formatAwsOrigin('s3', region), region, keys };
    const service = bucketService();
    return {
      endpoint: endpoint ?? service.endpoint ?? formatAwsOrigin('s3', service.region),
      region: service.region,
      keys,
    };
  }

  function findBucketProblem(target: TargetOf<'bucket'>): string | undefined {
    const address = requireAddress(parseBucketAddress(target.url));
    if (target.access_key_id === null && target.endpoint !== null)
      return 'The keys of the service are used with its own endpoint only: set access_key_id.';
    if (target.access_key_id === null && !allowedBuckets.some((allowed) => isBelowBucket(address, allowed)))
      return 'The bucket is none of those the operator allows (--delivery-buckets, DIVISOR_DELIVERY_BUCKETS), and the target has no access_key_id.';
    try {
      const { endpoint } = connectBucket(target, undefined);
      const { protocol, hostname, port } = new URL(endpoint);
      const defaultPort = protocol === 'http:' ? HTTP_PORT : HTTPS_PORT;
      const host = hostname.replaceAll(/^\[|\]$/g, '');
      return target.access_key_id === null
        ? undefined
        : findHostProblem({ host, port: port === '' ? defaultPort : Number(port) }, defaultPort);
    } catch (failure) {
      if (failure instanceof StartRefusal || failure instanceof Refusal || failure instanceof ArtifactStoreFault)
        return `The object store of the service is not configured: ${failure.message}`;
      throw failure;
    }
  }

  function findMailProblem({ to }: TargetOf<'mail'>): string | undefined {
    if (!hasMail) return 'Mail is not configured on this service (DIVISOR_SMTP_URL, --smtp-from).';
    const other = to.find((address) => !domains.has(address.slice(address.lastIndexOf('@') + 1).toLowerCase()));
    return other === undefined
      ? undefined
      : `The domain of ${other} is none of those the operator allows (--mail-domains, DIVISOR_MAIL_DOMAINS).`;
  }

  return {
    findProblem(target) {
      const [problem] = listTargetProblems(target);
      if (problem !== undefined) {
        const value = maskUrlPasswords(JSON.stringify(problem.value));
        return `The ${problem.field} of the target ${target.name} ${problem.message}; it is ${value}.`;
      }
      if (target.type === 'sftp') return findHostProblem(requireAddress(parseSftpAddress(target.url)), SFTP_PORT);
      if (target.type === 'callback') return callbacks.findProblem(target.url)?.reason;
      if (target.type === 'bucket') return findBucketProblem(target);
      if (target.type === 'mail') return findMailProblem(target);
      return isBelow(readFolderPath(target), roots)
        ? undefined
        : 'The folder is in none of those the operator allows (--delivery-roots, DIVISOR_DELIVERY_ROOTS).';
    },
    createAccess(target, secret) {
      const { bucket, folders } = requireAddress(parseBucketAddress(target.url));
      if (target.access_key_id !== null && secret === undefined)
        throw new DeliveryFault('No secret is stored for the access key of the target.', { isFinal: true });
      const { endpoint, region, keys } = connectBucket(target, secret);
      const prefix = folders.map((folder) => `${folder}/`).join('');
      return { endpoint: endpoint.replace(/\/$/, ''), region, bucket, prefix, keys };
    },
    async assertFolder(path) {
      const realFolder = await resolveFolder(path);
      const realRoots = await Promise.all(roots.map((root) => realpath(root).catch(() => root)));
      if (!isBelow(realFolder, realRoots))
        throw new DeliveryFault('A link leads out of the folders that the operator allows (--delivery-roots).', {
          isFinal: true,
        });
    },
  };
}

const isBelow = (path: string, roots: readonly string[]): boolean =>
  roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep));

/** Returns the path of a folder with its links resolved. The part of the path that does not exist is unchanged. */
async function resolveFolder(path: string): Promise<string> {
  const realFolder = await realpath(path).catch(() => undefined);
  if (realFolder !== undefined) return realFolder;
  const parent = dirname(path);
  return parent === path
    ? path
    : `${await resolveFolder(parent)}${sep}${path.slice(parent.length).replace(/^[/\\]/, '')}`;
}

export type Transports = typeof import('./transports.js');

/**
 * Loads the packages at the first call. They come from a bundle, or from the compiled modules if the bundle is out of
 * date.
 */
const loadTransports: () => Transports = callOnce(() => {
  const address = findBundlePath('transports.cjs') ?? new URL('./transports.js', import.meta.url).href;
  return createRequire(import.meta.url)(fileURLToPath(address)) as Transports;
});

/** Time limits of a request. They are short, because the rounds of a day try again. */
const REQUEST_LIMITS = { patienceMs: 4000, answerMs: 60_000 };

/** Writes each file as an object. An object becomes visible only when it is complete. */
const createBucketSender =
  (destinations: Pick<DeliveryDestinations, 'createAccess'>): FileSender<'bucket'> =>
  async (job) => {
    const { target, secret } = job;
    const client = createS3Client(destinations.createAccess(target, secret), REQUEST_LIMITS);
    await sendEachFile(job, async (file) => {
      try {
        const result = await client.look(file.path);
        const isPresent = result?.sha256 === file.sha256 && result.bytes === file.bytes;
        await job.begin(file);
        if (!isPresent) await client.put(file.path, await file.content(), file.sha256);
        if (target.checksum) await putChecksum(client, file);
        if (result === undefined) return SENT_MESSAGE;
        return isPresent ? PRESENT_MESSAGE : REPLACED_MESSAGE;
      } catch (failure) {
        throw toFault(failure);
      }
    });
  };

async function putChecksum(
  client: ReturnType<typeof createS3Client>,
  file: { readonly path: string; readonly sha256: string },
): Promise<void> {
  const content = new TextEncoder().encode(computeChecksum(file));
  const sha256 = createHash('sha256').update(content).digest('hex');
  const name = `${file.path}.sha256`;
  if ((await client.look(name))?.sha256 !== sha256) await client.put(name, content, sha256);
}

function toFault(failure: unknown): unknown {
  const isStoreFault =
    failure instanceof ArtifactStoreFault || (failure instanceof Refusal && isStoreUnavailable(failure));
  return isStoreFault ? new DeliveryFault(failure.message, { cause: failure }) : failure;
}

/** Sends each file as the body of a signed request. All attempts have the same message id. */
const createCallbackSender =
  (post: SignedPostSender): FileSender<'callback'> =>
  (job) => {
    // A receiver can verify the messages of this target, and no others.
    const secrets = readSigningSecrets(job.secret ?? '');
    if (secrets.length === 0)
      throw new DeliveryFault('No secret is stored that signs the requests of the target.', { isFinal: true });
    return sendEachFile(job, async (file) => {
      const { client, schedule, date, target, signal } = job;
      await job.begin(file);
      const id = createHash('sha256')
        .update([client, target.name, schedule, date, file.path, file.sha256].join('\n'))
        .digest('hex')
        .slice(0, 32);
      const failure = await post(
        {
          url: target.url,
          secrets,
          id: `file_${id}`,
          body: await file.content(),
          headers: {
            'Content-Type': file.media,
            'Content-Disposition': `attachment; filename="${readFileName(file.path)}"`,
            'Content-Digest': `sha-256=:${Buffer.from(file.sha256, 'hex').toString('base64')}:`,
            'Divisor-Schedule': schedule,
            'Divisor-Date': date,
          },
        },
        signal,
      );
      if (failure !== undefined) throw new DeliveryFault(failure.reason, { isFinal: failure.isFinal });
      return SENT_MESSAGE;
    });
  };

/** Writes files to a folder. Each file is written under a temporary name and then renamed. */
const createFolderSender = (destinations: Pick<DeliveryDestinations, 'assertFolder'>): FileSender<'folder'> => {
  async function send(file: OutgoingFile, root: string, hasChecksum: boolean): Promise<string> {
    const folder = join(root, ...readFolder(file.path).split('/'));
    await destinations.assertFolder(folder);
    await mkdir(folder, { recursive: true });
    await destinations.assertFolder(folder); // a link may have been created meanwhile
    const path = join(folder, readFileName(file.path));
    const previousHash = await readHash(path, file.bytes);
    if (previousHash !== file.sha256) {
      const content = await file.content();
      // The checksum is removed first. Otherwise a reader could check the new file against the old checksum.
      if (previousHash !== undefined && hasChecksum) await rm(`${path}.sha256`, { force: true });
      await writeAtomically(folder, { name: readFileName(file.path), part: formatPartName(file), content });
    }
    if (hasChecksum) await writeChecksum(folder, file);
    if (previousHash === undefined) return SENT_MESSAGE;
    return previousHash === file.sha256 ? PRESENT_MESSAGE : REPLACED_MESSAGE;
  }

  return (job) =>
    sendEachFile(job, async (file) => {
      await job.begin(file);
      const { target } = job;
      return send(file, readFolderPath(target), target.checksum).catch((failure: unknown) => {
        throw toFolderFault(failure);
      });
    });
};

/**
 * Returns the SHA-256 of a file. Returns undefined if the file does not exist, and a text that is not a hash if the
 * size is different.
 */
async function readHash(path: string, bytes: number): Promise<string | undefined> {
  const result = await stat(path).catch(() => undefined);
  if (result === undefined) return undefined;
  if (result.size !== bytes) return 'other';
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

async function writeChecksum(folder: string, file: OutgoingFile): Promise<void> {
  const name = `${readFileName(file.path)}.sha256`;
  const content = computeChecksum(file);
  const previousChecksum = await readFile(join(folder, name), 'utf8').catch(() => undefined);
  if (previousChecksum !== content)
    await writeAtomically(folder, { name, part: `${formatPartName(file)}.sha256`, content });
}

interface PartialFile {
  readonly name: string;
  /** Temporary name while the file is written. */
  readonly part: string;
  readonly content: Uint8Array | string;
}

/** Flags that create or replace a file, and refuse a link, which could lead out of the folder. */
const PARTIAL_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | (constants.O_NOFOLLOW ?? 0);

async function writeAtomically(folder: string, { name, part, content }: PartialFile): Promise<void> {
  const partialPath = join(folder, part);
  const file = await open(partialPath, PARTIAL_FLAGS);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(partialPath, join(folder, name));
  const directory = await open(folder, 'r').catch(() => undefined);
  await directory?.sync().catch(() => {}); // file systems without directory sync persist the name soon enough
  await directory?.close();
}

function toFolderFault(failure: unknown): unknown {
  const { code } = failure as { readonly code?: unknown };
  if (failure instanceof DeliveryFault || typeof code !== 'string') return failure;
  return new DeliveryFault(`The folder could not be written: ${code}.`, { cause: failure });
}

interface MailServer {
  /** `smtp://user:password@host:port` or `smtps://`. */
  readonly url: string;
  readonly from: string;
}

const CONNECT_MS = 20_000;

/** Sends the files of a day as mail attachments, in as few mails as their sizes allow. */
const createMailSender =
  (server: MailServer | undefined): FileSender<'mail'> =>
  async (job) => {
    if (server === undefined) throw new DeliveryFault('Mail is not configured on this service.', { isFinal: true });
    const [small, large] = splitBySize(job.files);
    for (const file of large)
      await job.failed(
        file,
        new DeliveryFault(`The file is longer than a mail may be (${LIMITS.MAX_MAIL_BYTES} bytes).`, { isFinal: true }),
      );
    const transport = loadTransports().createTransport({
      url: server.url,
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: LIMITS.MAX_DELIVERY_SECONDS * 1000,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const stop = (): void => transport.close();
    job.signal.addEventListener('abort', stop, { once: true });
    try {
      // If the result of an attempt is unknown, the same files are put into the same mail again.
      const uncertainFiles = small.filter((file) => file.isUncertain);
      const otherOutgoingFiles = small.filter((file) => !file.isUncertain);
      for (const batch of [...groupByMail(uncertainFiles), ...groupByMail(otherOutgoingFiles)]) {
        job.signal.throwIfAborted();
        for (const file of batch) await job.begin(file);
        const message = await createMessage(batch, job, server.from);
        const { messageId } = await transport.sendMail(message).catch((failure: unknown) => {
          throw new DeliveryFault(`The mail server did not accept the mail: ${formatReason(failure)}.`, {
            cause: failure,
          });
        });
        for (const file of batch) await job.delivered(file, `Sent in the mail ${messageId}.`);
      }
    } finally {
      job.signal.removeEventListener('abort', stop);
      transport.close();
    }
  };

/** Divides files into those that fit into one mail and those that are too large. */
function splitBySize(files: readonly OutgoingFile[]): [OutgoingFile[], OutgoingFile[]] {
  const isWithinLimit = ({ bytes }: OutgoingFile): boolean => bytes <= LIMITS.MAX_MAIL_BYTES;
  return [files.filter(isWithinLimit), files.filter((file) => !isWithinLimit(file))];
}

function groupByMail(files: readonly OutgoingFile[]): OutgoingFile[][] {
  const batches: OutgoingFile[][] = [];
  let remainingBytes = 0;
  for (const file of files) {
    if (batches.length === 0 || file.bytes > remainingBytes) {
      batches.push([]);
      remainingBytes = LIMITS.MAX_MAIL_BYTES;
    }
    batches.at(-1)!.push(file);
    remainingBytes -= file.bytes;
  }
  return batches;
}

async function createMessage(batch: readonly OutgoingFile[], job: SendJob<TargetOf<'mail'>>, from: string) {
  const { target, client, schedule, date } = job;
  const terms = { file: '', client, schedule, table: '', day: parseValidDay(date) };
  const names = batch.map(({ path }) => readFileName(path));
  const id = createHash('sha256')
    .update([client, target.name, schedule, date, ...batch.map(({ path, sha256 }) => `${path} ${sha256}`)].join('\n'))
    .digest('hex')
    .slice(0, 32);
  return {
    from,
    to: [...target.to],
    subject: createPath(target.subject, terms),
    // Mailboxes recognise a repeated mail by its id.
    messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1).replace(/>$/, '')}>`,
    text: `${names.length === 1 ? 'The file' : 'The files'} of ${schedule} for ${date}:\n\n${batch
      .map(({ path, sha256 }) => `${readFileName(path)}\nSHA-256 ${sha256}\n`)
      .join('\n')}`,
    attachments: await Promise.all(
      batch.map(async (file, k) => ({
        filename: names[k]!,
        content: Buffer.from(await file.content()),
        contentType: file.media,
      })),
    ),
  };
}

function formatReason(failure: unknown): string {
  const { responseCode, code, message } = failure as Error & {
    readonly responseCode?: number;
    readonly code?: string;
  };
  return responseCode === undefined ? (code ?? message) : `it answered ${responseCode}`;
}

/** Time for the connection, the exchange of keys and the sign-in. */
const READY_MS = 20_000;

/** Writes files to a server by SFTP. Each file is written under a temporary name and then renamed. */
const sendOverSftp: FileSender<'sftp'> = async (job) => {
  const { target, secret, signal } = job;
  const { client, sftp } = await connect(target, secret, signal);
  const createdFolders = new Set<string>();
  /** Runs an operation and closes its connection if the operation takes too long. */
  const limitTime = async <T>(work: () => Promise<T>): Promise<T> => {
    const timer = setTimeout(() => client.destroy(), LIMITS.MAX_DELIVERY_SECONDS * 1000);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
    }
  };
  try {
    const root = await resolveRoot(sftp, requireAddress(parseSftpAddress(target.url)));
    await sendEachFile(job, async (file) => {
      await job.begin(file);
      return limitTime(() => send(sftp, file, { root, hasChecksum: target.checksum, createdFolders })).catch(
        (failure: unknown) => {
          throw toSftpFault(failure);
        },
      );
    });
  } finally {
    client.destroy();
  }
};

/** Connects and signs in to a server. @throws DeliveryFault */
function connect(
  { url, host_key: fingerprint }: TargetOf<'sftp'>,
  secret: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly client: Client; readonly sftp: Sftp }> {
  const { host, port, user } = requireAddress(parseSftpAddress(url));
  if (secret === undefined)
    throw new DeliveryFault('No password and no key is stored for the target.', { isFinal: true });
  const { Client: SshClient } = loadTransports();
  const client = new SshClient();
  let hostKey: string | undefined;
  return new Promise((resolve, reject) => {
    const rejectConnection = (failure: Error): void => {
      client.destroy();
      const isDifferentHost = hostKey !== undefined && hostKey !== removePadding(fingerprint);
      const message = isDifferentHost
        ? `The server has another host key: ${hostKey}.`
        : `The server could not be used: ${formatSftpReason(failure)}.`;
      // After a refused password there is no immediate retry, because repeated attempts may lock the account.
      const isFinal =
        isDifferentHost || (failure as Error & { readonly level?: string }).level === 'client-authentication';
      reject(new DeliveryFault(message, { isFinal, cause: failure }));
    };
    const onAbort = (): void => rejectConnection(new Error('the service was stopped'));
    signal.addEventListener('abort', onAbort, { once: true });
    client.on('error', rejectConnection);
    client.on('close', () => {
      signal.removeEventListener('abort', onAbort);
      rejectConnection(new Error('the connection was closed'));
    });
    client.on('ready', () =>
      client.sftp((failure, sftp) => (failure ? rejectConnection(failure) : resolve({ client, sftp }))),
    );
    const isKey = secret.includes('-----BEGIN');
    try {
      client.connect({
        host,
        port,
        username: user,
        readyTimeout: READY_MS,
        keepaliveInterval: 10_000,
        ...(isKey ? { privateKey: secret } : { password: secret }),
        hostVerifier(key) {
          hostKey = removePadding(`SHA256:${createHash('sha256').update(key).digest('base64')}`);
          return hostKey === removePadding(fingerprint);
        },
      });
    } catch (failure) {
      rejectConnection(failure as Error); // the key is unreadable
    }
  });
}

const removePadding = (fingerprint: string): string => fingerprint.replaceAll('=', '');

async function resolveRoot(sftp: Sftp, { isHome, folders }: SftpAddress): Promise<string> {
  const start = isHome ? await ask<string>((done) => sftp.realpath('.', done)) : '';
  return [start, ...folders].join('/');
}

interface SendLocation {
  readonly root: string;
  readonly hasChecksum: boolean;
  /** Folders that exist on the server, as far as this delivery knows. */
  readonly createdFolders: Set<string>;
}

async function send(
  sftp: Sftp,
  file: OutgoingFile,
  { root, hasChecksum, createdFolders }: SendLocation,
): Promise<string> {
  const folder = [root, readFolder(file.path)].filter((part) => part !== '').join('/');
  await createFolders(sftp, { root, folder, createdFolders });
  const path = `${folder}/${readFileName(file.path)}`;
  const previousHash = await readSftpHash(sftp, path, file.bytes);
  if (previousHash !== file.sha256) {
    // The checksum is removed first. Otherwise a reader could check the new file against the old checksum.
    if (previousHash !== undefined && hasChecksum)
      await ask<void>((done) => sftp.unlink(`${path}.sha256`, done)).catch(ignoreAbsent);
    await writeSftpAtomically(sftp, {
      path,
      part: `${folder}/${formatPartName(file)}`,
      content: Buffer.from(await file.content()),
    });
  }
  if (hasChecksum) {
    const content = Buffer.from(computeChecksum(file));
    const storedDigest = await read(sftp, `${path}.sha256`);
    if (storedDigest?.equals(content) !== true)
      await writeSftpAtomically(sftp, {
        path: `${path}.sha256`,
        part: `${folder}/${formatPartName(file)}.sha256`,
        content,
      });
  }
  if (previousHash === undefined) return SENT_MESSAGE;
  return previousHash === file.sha256 ? PRESENT_MESSAGE : REPLACED_MESSAGE;
}

/** Creates the folders of a path below the root. The operator of the server has created the root. */
async function createFolders(
  sftp: Sftp,
  {
    root,
    folder,
    createdFolders,
  }: { readonly root: string; readonly folder: string; readonly createdFolders: Set<string> },
): Promise<void> {
  let path = root;
  for (const part of folder.slice(root.length).split('/')) {
    if (part === '') continue;
    path += `/${part}`;
    if (createdFolders.has(path)) continue;
    const result = await ask<{ isDirectory(): boolean }>((done) => sftp.stat(path, done)).catch(() => undefined);
    if (result === undefined) await ask<void>((done) => sftp.mkdir(path, done));
    createdFolders.add(path);
  }
}

/**
 * Returns the SHA-256 of a file. Returns undefined if the file does not exist, and `other` if its size is different or
 * its content is unreadable.
 */
async function readSftpHash(sftp: Sftp, path: string, bytes: number): Promise<string | undefined> {
  const result = await ask<{ readonly size: number }>((done) => sftp.stat(path, done)).catch(() => undefined);
  if (result === undefined) return undefined;
  if (result.size !== bytes) return 'other';
  const content = await read(sftp, path);
  return content === undefined ? 'other' : createHash('sha256').update(content).digest('hex');
}

const read = (sftp: Sftp, path: string): Promise<Buffer | undefined> =>
  ask<Buffer>((done) => sftp.readFile(path, done)).catch(() => undefined);

interface SftpPartialFile {
  readonly path: string;
  /** Temporary path while the file is written. */
  readonly part: string;
  readonly content: Buffer;
}

/**
 * Writes a file and renames it. The rename replaces the old file if the server supports that; otherwise the old file is
 * removed first.
 */
async function writeSftpAtomically(sftp: Sftp, { path, part, content }: SftpPartialFile): Promise<void> {
  await ask<void>((done) => sftp.writeFile(part, content, done));
  try {
    await ask<void>((done) => sftp.ext_openssh_rename(part, path, done));
  } catch {
    await ask<void>((done) => sftp.unlink(path, done)).catch(ignoreAbsent);
    await ask<void>((done) => sftp.rename(part, path, done));
  }
}

/** Ignores a failed removal. Either the file does not exist, or the next step reports the failure. */
const ignoreAbsent = (): void => {};

function ask<T>(call: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => call((failure, result) => (failure ? reject(failure) : resolve(result))));
}

function toSftpFault(failure: unknown): unknown {
  if (failure instanceof DeliveryFault || !(failure instanceof Error) || !isRemoteFault(failure)) return failure;
  return new DeliveryFault(`The server could not store the file: ${formatSftpReason(failure)}.`, { cause: failure });
}

/**
 * Returns true for an error that the server reported. The code of an SFTP error is a number and the code of a
 * connection error is a word. The error of a lost session has only a message.
 */
const isRemoteFault = (failure: Error & { readonly code?: unknown; readonly level?: unknown }): boolean =>
  failure.code !== undefined || failure.level !== undefined || /channel|connect|response|closed/i.test(failure.message);

function formatSftpReason({
  message,
  code,
  level,
}: Error & { readonly code?: unknown; readonly level?: unknown }): string {
  if (level === 'client-authentication') return 'the user, its password or its key was refused';
  if (level === 'client-timeout') return `no answer within ${READY_MS / 1000} seconds`;
  return typeof code === 'string' && code !== '' ? code : message.replace(/\.$/, '');
}

export type Senders = { readonly [T in TargetType]: FileSender<T> };

export const createSenders = (
  destinations: DeliveryDestinations,
  post: SignedPostSender,
  mailServer: MailServer | undefined,
): Senders => ({
  folder: createFolderSender(destinations),
  bucket: createBucketSender(destinations),
  sftp: sendOverSftp,
  callback: createCallbackSender(post),
  mail: createMailSender(mailServer),
});
