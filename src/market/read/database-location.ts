import { lookup } from 'node:dns/promises';
import { decodeAddressPart, findAddressRange, type HostPort, parseHostPort } from '#base/addresses.js';
import { Refusal } from '#domain/base/refusals.js';
import type { DataProblem } from '../tables/problems.js';
import type { Locations } from './folder.js';

export type DatabaseLocation =
  | { readonly kind: 'sqlite' | 'duckdb'; readonly path: string }
  | {
      readonly kind: 'postgresql';
      /** Address of the host, which was checked. A connection by name could reach another address. */
      readonly address: string;
      /** Host name in the certificate. */
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly password: string;
      readonly database: string;
      readonly isEncrypted: boolean;
    };

export interface DatabaseLocations {
  /**
   * Returns the database of a connection URL: `sqlite:///path`, `duckdb:///path` or
   * `postgresql://user:password@host:port/database`. Files must be below one of the allowed folders. The operator must
   * allow the host and port. Other locations are rejected even if they do not exist.
   * @param options.isRegistered true to read a store that is registered at the location: see `Locations.forRegistered`
   * @throws Refusal NOT_SUPPORTED for a database without a driver
   */
  resolve(
    location: string,
    options?: { readonly isRegistered?: boolean },
  ): Promise<{ readonly place: DatabaseLocation } | { readonly problem: DataProblem }>;
}

/** Accepted parameters of a PostgreSQL URL. Other parameters could read files of this machine. */
const URL_PARAMETERS: ReadonlySet<string> = new Set(['sslmode']);
const SSL_MODES = ['disable', 'require', 'verify-full'];

/** Returns true for an address that no database may have: it is reserved, or a translation or tunnel to IPv4. */
const isNowhere = (address: string): boolean => (findAddressRange(address)?.kind ?? 'reserved') === 'reserved';

/** Default port of an allowed host. */
const DEFAULT_PORT = 5432;

export function createDatabaseLocations({
  locations,
  hosts,
  resolveHost = async (host) => (await lookup(host)).address,
  openUrl = (url) => url,
}: {
  readonly locations: Locations;
  /** Allowed hosts, as `host` for port 5432 or `host:port`. */
  readonly hosts: readonly string[];
  /** Returns the first address of a host. Default: resolved by the operating system. */
  readonly resolveHost?: (host: string) => Promise<string>;
  /** Decrypts a URL with an encrypted password. Default: returns the URL unchanged. */
  readonly openUrl?: (url: string) => string;
}): DatabaseLocations {
  const allowedHosts = new Set(hosts.map((host) => formatKey(parseHostPort(host, DEFAULT_PORT))));

  async function parsePostgresqlUrl(
    url: URL,
  ): Promise<{ readonly place: DatabaseLocation } | { readonly problem: DataProblem }> {
    const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
    const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
    if (!allowedHosts.has(formatKey({ host, port }))) return createNotAllowedProblem(HOST_NOT_ALLOWED);
    const unknownParameters = [...url.searchParams.keys()].filter((name) => !URL_PARAMETERS.has(name));
    if (unknownParameters.length > 0)
      return createMalformedProblem(
        `The parameter ${unknownParameters[0]} of the URL is not accepted; the accepted set is ${[...URL_PARAMETERS].join(', ')}.`,
      );
    const mode = url.searchParams.get('sslmode') ?? 'disable';
    if (!SSL_MODES.includes(mode))
      return createMalformedProblem(`The sslmode is ${mode}; the accepted set is ${SSL_MODES.join(', ')}.`);
    const [user, password, database] = [
      decodeAddressPart(url.username),
      decodeAddressPart(url.password),
      decodeAddressPart(url.pathname.slice(1)),
    ];
    if (user === undefined || password === undefined || database === undefined)
      return createMalformedProblem(BAD_ESCAPE);
    if (database === '' || user === '')
      return createMalformedProblem(`The URL needs a user and a database: ${POSTGRESQL_FORM}.`);
    const controlPart = Object.entries({ user, password, database }).find(([, text]) => CONTROL_CHARACTER.test(text));
    if (controlPart !== undefined)
      return createMalformedProblem(`The ${controlPart[0]} of the URL contains a control character.`);
    const address = await resolveHost(host).catch(() => undefined);
    if (address === undefined)
      return { problem: { code: 'LOCATION_NOT_FOUND', path: 'location', message: 'The host has no address.' } };
    if (isNowhere(address)) return createNotAllowedProblem('The address of the host is none a database may have.');
    return {
      place: {
        kind: 'postgresql',
        address,
        host,
        port,
        user,
        password,
        database,
        isEncrypted: mode !== 'disable',
      },
    };
  }

  return {
    async resolve(stored, { isRegistered = false } = {}) {
      const location = openUrl(stored);
      const url = URL.canParse(location) ? new URL(location) : undefined;
      switch (url?.protocol) {
        case undefined:
          return createMalformedProblem(
            `The location is not a URL; sqlite:///path, duckdb:///path or ${POSTGRESQL_FORM} is needed; percent-encode every character of a password that is not a letter or digit.`,
          );
        case 'postgres:':
        case 'postgresql:':
          return /^postgres(ql)?:\/\//i.test(location)
            ? parsePostgresqlUrl(url!)
            : createMalformedProblem(`The URL has no two slashes after its colon: ${POSTGRESQL_FORM}.`);
        case 'sqlite:':
        case 'duckdb:': {
          const kind = url!.protocol === 'sqlite:' ? 'sqlite' : 'duckdb';
          if (url!.host !== '' || url!.search !== '')
            return createMalformedProblem(`A ${kind} URL has three slashes and a path: ${kind}:///path.`);
          const path = decodeAddressPart(url!.pathname);
          if (path === undefined) return createMalformedProblem(BAD_ESCAPE);
          const ownLocations = isRegistered ? locations.forRegistered(path) : locations;
          const resolvedPath = await ownLocations.resolve(path, 'file');
          return 'problem' in resolvedPath ? resolvedPath : { place: { kind, path: resolvedPath.path } };
        }
        default:
          throw new Refusal(
            'NOT_SUPPORTED',
            `This build has no driver for ${url!.protocol.slice(0, -1).slice(0, 32)}; it has those of sqlite, duckdb and postgresql.`,
          );
      }
    },
  };
}

const HOST_NOT_ALLOWED =
  'The host and port are none of those the operator allows (--database-hosts, DIVISOR_DATABASE_HOSTS; port 5432 where none is named).';

/** Matches characters that end a field or a line of a protocol. */
// oxlint-disable-next-line no-control-regex
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;

const formatKey = (place: HostPort | undefined): string => (place === undefined ? '' : `${place.host} ${place.port}`);

const POSTGRESQL_FORM = 'postgresql://user:password@host:port/database';
const BAD_ESCAPE = 'A % of the URL begins no escape: a percent sign is written %25.';

const createNotAllowedProblem = (message: string) => ({
  problem: { code: 'LOCATION_NOT_ALLOWED' as const, path: 'location', message },
});
const createMalformedProblem = (message: string) => ({
  problem: { code: 'WRONG_TYPE' as const, path: 'location', message },
});
