import { decodeAddressPart, parseHostPort } from '../../base/addresses.js';
import { type Day, parseValidDay, toCivilDate } from '../base/time.js';

/**
 * Addresses of targets, and paths of files at targets. An address is parsed once, into a place and the names of its
 * folders; everything that compares or uses an address uses these names. So no second reading can find other folders.
 */

/** Parsed address, or the reason why the text is refused, as the end of a sentence about it. */
export type Parsed<T> =
  | (T & { readonly problem?: undefined })
  | ({ readonly [K in keyof T]?: undefined } & { readonly problem: string });

interface Folders {
  readonly folders: readonly string[];
}

export interface BucketAddress extends Folders {
  readonly bucket: string;
}

export interface SftpAddress extends Folders {
  readonly user: string;
  readonly host: string;
  readonly port: number;
  /** True if the folders are below the folder of the user. */
  readonly isHome: boolean;
}

/** Names of buckets. @source rules of Amazon S3 for general purpose buckets; two dots in a row are also refused */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
export const SFTP_PORT = 22;
const SFTP_FORM = 'must contain the user and the host: sftp://user@host/folder';

/** Parses `s3://bucket` or `s3://bucket/folder/folder`. */
export function parseBucketAddress(text: string): Parsed<BucketAddress> {
  if (!/^s3:\/\//i.test(text)) return { problem: 'must be an address that begins with s3://' };
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]*)(.*)$/is.exec(text) ?? [];
  if (!BUCKET.test(bucket) || bucket.includes('..'))
    return {
      problem:
        'must be s3:// and a bucket of 3 to 63 lower-case letters, digits, dots and dashes, optionally with a prefix',
    };
  const parsed = parseFolders(path);
  return parsed.problem === undefined ? { bucket, folders: parsed.folders } : parsed;
}

export function parseFolderAddress(text: string): Parsed<Folders> {
  if (!/^file:\/\//i.test(text)) return { problem: 'must be an address that begins with file://' };
  const path = /^file:\/\/(\/.*)$/is.exec(text)?.[1];
  const parsed = parseFolders(path ?? '');
  return parsed.folders?.length === 0 ? { problem: 'must be file:/// and the absolute path of a folder' } : parsed;
}

/** Parses `sftp://user@host:port/folder`. Folders after `/~/` are below the folder of the user. */
export function parseSftpAddress(text: string): Parsed<SftpAddress> {
  if (!/^sftp:\/\//i.test(text)) return { problem: 'must be an address that begins with sftp://' };
  const [, login = '', place = '', path = ''] = /^sftp:\/\/([^/]*)@([^/@]*)(.*)$/is.exec(text) ?? [];
  if (login.includes(':')) return { problem: 'must not contain a password; the password is the secret of the target' };
  const user = decodeAddressPart(login);
  const hostPort = /^(?:\[[^\]]*\]|[^:[\]]+)(?::\d+)?$/.test(place) ? parseHostPort(place, SFTP_PORT) : undefined;
  if (user === undefined || user === '' || hostPort === undefined) return { problem: SFTP_FORM };
  if (/[\p{C}\s/\\]/u.test(user))
    return { problem: 'must contain a user without spaces, slashes and control characters' };
  const parsed = parseFolders(path);
  if (parsed.problem !== undefined) return parsed;
  const isHome = parsed.folders[0] === '~';
  return { user, ...hostPort, isHome, folders: isHome ? parsed.folders.slice(1) : parsed.folders };
}

/** Parses the path of an address. A slash at its end is no empty name. */
function parseFolders(path: string): Parsed<Folders> {
  if (path === '' || path === '/') return { folders: [] };
  const folders: string[] = [];
  for (const part of path.slice(1, path.endsWith('/') ? -1 : undefined).split('/')) {
    const folder = decodeAddressPart(part);
    if (folder === undefined) return { problem: `must have no invalid percent-encoding, unlike ${quote(part)}` };
    const problem = findNameProblem(folder);
    if (problem !== undefined) return { problem };
    folders.push(folder);
  }
  return { folders };
}

const quote = (name: string): string => JSON.stringify(name.length <= 40 ? name : `${name.slice(0, 37)}...`);

/**
 * Characters of a name in an address. Backslashes, percent signs, semicolons and everything that programs may read as a
 * separator, an encoding or a pattern are absent.
 */
const ADDRESS_NAME = /^[\p{L}\p{M}\p{Nd}!$&'()*+,.:=@_~ -]+$/u;
const NAME_BYTES_MAX = 255;

/**
 * Returns the reason why a decoded name of a folder or object is refused. Returns undefined if every store reads it as
 * one name inside its folder.
 */
export function findNameProblem(name: string): string | undefined {
  if (name === '') return 'must have no empty name between slashes';
  if (/^[. ]+$/.test(name)) return `must have no name of dots such as ${quote(name)}`;
  if (!ADDRESS_NAME.test(name) || name.trim() !== name || name.normalize('NFKC') !== name)
    return `must consist of names with letters, digits, inner spaces and !$&'()*+,-.:=@_~ between slashes, unlike ${quote(name)}`;
  return new TextEncoder().encode(name).length > NAME_BYTES_MAX
    ? `must have names of at most ${NAME_BYTES_MAX} bytes between slashes, unlike ${quote(name)}`
    : undefined;
}

export const isBelowBucket = (address: BucketAddress, allowed: BucketAddress): boolean =>
  address.bucket === allowed.bucket && allowed.folders.every((folder, k) => folder === address.folders[k]);

/** One label of a host name, because a region becomes a part of a host name. */
const REGION = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const REGION_LENGTH_MAX = 40;

/** Returns the reason why a region of an object store is refused. Returns undefined if it is valid. */
export const findRegionProblem = (region: string): string | undefined =>
  REGION.test(region) && region.length <= REGION_LENGTH_MAX
    ? undefined
    : `must be a region of at most ${REGION_LENGTH_MAX} lower-case letters, digits and single dashes, such as eu-central-1`;

/** Placeholders of a file name pattern: `{index}`, `{table}`, `{schedule}` and `{date}` or `{date:FORMAT}`. */
const PLACEHOLDER = /\{(index|table|schedule|date)(?::([^{}]+))?\}/g;
const PATH_PLACEHOLDER = /\{(file|client)\}/g;
/**
 * Matches a date format. `YYYY` is matched as `YY` twice: with a separate alternative, the time to reject a text would
 * grow exponentially.
 */
const DATE_FORMAT = /^(?:YY|MM|DD|[-_.])+$/;

/** File names that every file system and every SFTP server accepts, and that do not hide. */
const FILE_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$/;

/** Terms of a sample. Values of placeholders other than dates are ids, which contain no dot and no slash. */
const SAMPLE = { schedule: 'X', index: 'X', table: 'X', day: parseValidDay('2001-12-31') };

/** Returns the reason why a pattern is refused. Returns undefined if it is valid. */
export function checkPattern(pattern: string): string | undefined {
  const problem = describeFormatProblem(pattern);
  if (problem !== undefined) return problem;
  if (FILE_NAME.test(createFileName(pattern, SAMPLE))) return undefined;
  return 'a file name consists of letters, digits, dots, dashes, underscores and the placeholders {index}, {table}, {schedule} and {date:YYYYMMDD}, and does not begin with a dot';
}

/**
 * Returns the reason why a path pattern is refused. Returns undefined if it is valid. A path pattern consists of
 * folders and a name with placeholders, including {file} and {client}.
 */
export function checkPathPattern(pattern: string): string | undefined {
  const problem = describeFormatProblem(pattern);
  if (problem !== undefined) return problem;
  if (findPathProblem(createPath(pattern, { ...SAMPLE, file: 'X', client: 'X' })) === undefined) return undefined;
  return 'is not a valid pattern: a path consists of names between slashes, with letters, digits, dots, dashes, underscores and the placeholders {file}, {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}; no name begins with a dot';
}

function describeFormatProblem(pattern: string): string | undefined {
  for (const [whole, name, format] of pattern.matchAll(PLACEHOLDER)) {
    if (format === undefined) continue;
    if (name !== 'date') return `${whole} has a format, which is accepted only for date`;
    if (!DATE_FORMAT.test(format) || !/[YMD]/.test(format))
      return `${whole} has an invalid format; a format consists of YYYY, YY, MM and DD, at least one of them, with - _ or .`;
  }
  return undefined;
}

/**
 * Returns the reason why a path of a file is refused, whatever pattern resulted in it. Returns undefined if it is inside
 * the folder of every kind of target.
 */
export function findPathProblem(path: string): string | undefined {
  const wrong = path.split('/').find((name) => !FILE_NAME.test(name));
  return wrong === undefined
    ? undefined
    : `The path ${quote(path)} has the name ${quote(wrong)}, which is not accepted.`;
}

export interface FileNameTerms {
  readonly schedule: string;
  /** Index of the file; absent for a file of the whole family. */
  readonly index?: string | undefined;
  readonly table: string;
  readonly day: Day;
}

export function createPath(
  pattern: string,
  { file, client, ...terms }: FileNameTerms & { readonly file: string; readonly client: string },
): string {
  const pathTerms: Record<string, string> = { file, client };
  return createFileName(pattern, terms).replaceAll(PATH_PLACEHOLDER, (_, name: string) => pathTerms[name]!);
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
