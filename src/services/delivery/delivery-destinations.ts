import { realpath } from 'node:fs/promises';
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseHostPort } from '#base/text/host-port.js';
import type { Target, TargetOf } from '#domain/delivery/target-catalogue.js';
import type { S3Access } from '#store/access/s3-access.js';
import type { CallbackDestinations } from '../operations/callback-destinations.js';
import { DeliveryFault } from './sender.js';

/** Region and origin of an object store. The bucket is not part of it. */
export type BucketService = Pick<S3Access, 'endpoint' | 'region' | 'keys'>;

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
  /** Domains that may receive mail. */
  readonly mailDomains: readonly string[];
  /** Returns the object store in the service's settings, or the object store of AWS in this region. */
  readonly bucketService: (region: string | null) => BucketService;
}

/** Destinations to which the operator permits deliveries. */
export interface DeliveryDestinations {
  /** Returns the reason why deliveries to a target are not permitted; undefined if they are permitted. */
  findProblem(target: Target): string | undefined;
  /** Returns the access data for the bucket of a target. @param secret secret of the client's key */
  createAccess(target: TargetOf<'bucket'>, secret: string | undefined): S3Access;
  /**
   * Checks that a folder is inside a folder that the operator permits. Links are resolved first. @throws DeliveryFault
   */
  assertFolder(path: string): Promise<void>;
}

const PORTS: Readonly<Record<string, number>> = { 'sftp:': 22, 'https:': 443, 'http:': 80 };

export function createDeliveryDestinations(options: DeliveryDestinationOptions): DeliveryDestinations {
  const { roots, hosts, buckets, callbacks, hasMail, mailDomains, bucketService } = options;
  const domains = new Set(mailDomains.map((domain) => domain.toLowerCase()));

  function findHostProblem(text: string): string | undefined {
    const url = new URL(text);
    const host = url.hostname.replaceAll(/^\[|\]$/g, '').toLowerCase();
    const defaultPort = PORTS[url.protocol]!; // targets have only these schemes
    const port = url.port === '' ? defaultPort : Number(url.port);
    const isAllowed = hosts.some((allowedHost) => {
      const allowedHostPort = parseHostPort(allowedHost, defaultPort);
      return allowedHostPort?.host === host && allowedHostPort.port === port;
    });
    return isAllowed
      ? undefined
      : 'The host is none of those the operator allows (--delivery-hosts, DIVISOR_DELIVERY_HOSTS).';
  }

  function formatEndpoint({ endpoint, region }: TargetOf<'bucket'>): string {
    return endpoint ?? bucketService(region).endpoint;
  }

  function findBucketProblem(target: TargetOf<'bucket'>): string | undefined {
    if (target.access_key_id !== null) return findHostProblem(formatEndpoint(target));
    if (target.endpoint !== null)
      return 'The keys of the service are used with its own endpoint only: set access_key_id.';
    const isAllowed = buckets.some((allowedBucket) => addSlash(target.url).startsWith(addSlash(allowedBucket)));
    return isAllowed
      ? undefined
      : 'The bucket is none of those the operator allows (--delivery-buckets, DIVISOR_DELIVERY_BUCKETS), and the target has no access_key_id.';
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
      if (target.type === 'sftp') return findHostProblem(target.url);
      if (target.type === 'callback') return callbacks.findProblem(target.url)?.reason;
      if (target.type === 'bucket') return findBucketProblem(target);
      if (target.type === 'mail') return findMailProblem(target);
      return isBelow(fileURLToPath(target.url), roots)
        ? undefined
        : 'The folder is in none of those the operator allows (--delivery-roots, DIVISOR_DELIVERY_ROOTS).';
    },
    createAccess(target, secret) {
      const { hostname: bucket, pathname } = new URL(target.url);
      const service = bucketService(target.region);
      const keys =
        target.access_key_id === null || secret === undefined
          ? service.keys
          : ({ kind: 'given', accessKeyId: target.access_key_id, secretAccessKey: secret } as const);
      const prefix = decodeURIComponent(pathname)
        .split('/')
        .filter((part) => part !== '')
        .map((part) => `${part}/`)
        .join('');
      const endpoint = formatEndpoint(target).replace(/\/$/, '');
      return { endpoint, region: target.region ?? service.region, bucket, prefix, keys };
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

const addSlash = (url: string): string => (url.endsWith('/') ? url : `${url}/`);

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
