import { callOnce } from './once.js';

/** Host and port. */
export interface HostPort {
  /** Lower-case host name or IP address. An IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
}

const NAMED_HOST = /^([a-z0-9._-]{1,253})(?::(\d{1,5}))?$/i;
const BRACKETED_HOST = /^\[([0-9a-f:.]{2,45})\](?::(\d{1,5}))?$/i;
const BARE_ADDRESS = /^[0-9a-f]{0,4}:[0-9a-f:.]{1,40}$/i;
const PORT_MAX = 65_535;

/**
 * Parses `host`, `host:port`, `[address]:port` or a bare IPv6 address.
 * @param otherwise default port
 * @returns undefined for any other text
 */
export function parseHostPort(text: string, otherwise: number): HostPort | undefined {
  if (BARE_ADDRESS.test(text) && !NAMED_HOST.test(text)) return { host: text.toLowerCase(), port: otherwise };
  const match = NAMED_HOST.exec(text) ?? BRACKETED_HOST.exec(text);
  if (match === null) return undefined;
  const port = match[2] === undefined ? otherwise : Number(match[2]);
  return port >= 1 && port <= PORT_MAX ? { host: match[1]!.toLowerCase(), port } : undefined;
}

/**
 * Returns a text without trailing slashes, in linear time. A regular expression such as `/\/+$/` can take quadratic
 * time.
 */
export function trimTrailingSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}

/**
 * Matches a password in a URL: from the colon after the user to the last at-sign before the path, because a password
 * may contain at-signs.
 */
const URL_PASSWORD = /(:\/\/[^\s/:@"\\]*):[^\s/"\\]+@/g;
/** Matches a password in the query parameters of a URL. */
const PARAMETER_PASSWORD = /([?&](?:ssl)?password=)[^\s&"\\]+/gi;

/** Masks passwords of URLs in a text. @param mark replaces each password */
export function maskUrlPasswords(text: string, mark = '***'): string {
  return text.replaceAll(URL_PASSWORD, `$1:${mark}@`).replaceAll(PARAMETER_PASSWORD, `$1${mark}`);
}

/**
 * Removes the password from a text that contains at most one URL. The URL may be invalid, and the password may contain
 * any characters.
 */
export function removeUrlPassword(text: string): string {
  const user = text.indexOf('://') + '://'.length;
  const colon = text.indexOf(':', user);
  const offset = text.lastIndexOf('@');
  const hasPassword = user >= '://'.length && colon !== -1 && colon < offset;
  return maskUrlPasswords(hasPassword ? `${text.slice(0, colon)}:***${text.slice(offset)}` : text);
}

/** Range of IP addresses. */
export interface AddressRange {
  /** Range in CIDR notation. */
  readonly range: string;
  readonly name: string;
  /**
   * `public`: hosts of the Internet. `private`: this machine and private networks. `reserved`: nothing is sent there,
   * whatever the settings.
   */
  readonly kind: 'public' | 'private' | 'reserved';
}

/**
 * Special-purpose addresses, most specific ranges first. Anycast services among them are also reserved: no host of a
 * client has such an address.
 * @source IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), as of 2025-10; IANA multicast registries.
 * Metadata services: the documentation of Amazon EC2 and EKS, Google Cloud, Azure, Alibaba Cloud, Oracle Cloud and
 * Scaleway.
 */
const SPECIAL_RANGES: readonly (readonly [range: string, name: string, kind?: 'private'])[] = [
  ['100.100.100.200/32', 'cloud metadata'],
  ['168.63.129.16/32', 'cloud metadata'],
  ['fd00:ec2::/32', 'cloud metadata'],
  ['fd20:ce::/32', 'cloud metadata'],
  ['fd00:c1::/32', 'cloud metadata'],
  ['fd00:42::/32', 'cloud metadata'],
  ['127.0.0.0/8', 'loopback', 'private'],
  ['10.0.0.0/8', 'private use', 'private'],
  ['172.16.0.0/12', 'private use', 'private'],
  ['192.168.0.0/16', 'private use', 'private'],
  ['100.64.0.0/10', 'shared address space', 'private'],
  ['0.0.0.0/8', 'this network'],
  ['169.254.0.0/16', 'link local'],
  ['192.0.0.0/24', 'IETF protocol assignments'],
  ['192.0.2.0/24', 'documentation'],
  ['192.31.196.0/24', 'AS112'],
  ['192.52.193.0/24', 'AMT'],
  ['192.88.99.0/24', '6to4 relay anycast'],
  ['192.175.48.0/24', 'AS112'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
  ['::1/128', 'loopback', 'private'],
  ['::/128', 'unspecified'],
  ['::/96', 'IPv4-compatible'],
  ['64:ff9b::/96', 'IPv4-IPv6 translation'],
  ['64:ff9b:1::/48', 'IPv4-IPv6 translation'],
  ['100::/64', 'discard only'],
  ['100:0:0:1::/64', 'dummy prefix'],
  ['2001::/32', 'Teredo'],
  ['2001:2::/48', 'benchmarking'],
  ['2001:10::/28', 'ORCHID'],
  ['2001:20::/28', 'ORCHIDv2'],
  ['2001:30::/28', 'drone remote identification'],
  ['2001::/23', 'IETF protocol assignments'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4'],
  ['2620:4f:8000::/48', 'AS112'],
  ['3fff::/20', 'documentation'],
  ['5f00::/16', 'segment routing'],
  ['fc00::/7', 'unique local', 'private'],
  ['fe80::/10', 'link local'],
  ['fec0::/10', 'site local'],
  ['ff00::/8', 'multicast'],
];

/** Addresses of hosts of the Internet. @source IANA Internet Protocol Version 6 Address Space (RFC 4291) */
const GLOBAL_UNICAST = '2000::/3';

/** An IP address as a number of 32 or 128 bits. */
interface ParsedAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/**
 * Returns the range of an IP address, which may have a zone. An IPv6 address that maps an IPv4 address (`::ffff:`) has
 * the range of that address.
 * @returns undefined if the text is not an IP address
 */
export function findAddressRange(text: string): AddressRange | undefined {
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const special = parseRanges().find(({ contains }) => contains(address));
  if (special !== undefined) return special.range;
  if (address.bits === 32) return { range: '0.0.0.0/0', name: 'public', kind: 'public' };
  return parseRange(GLOBAL_UNICAST)(address)
    ? { range: GLOBAL_UNICAST, name: 'public', kind: 'public' }
    : { range: '::/0', name: 'not assigned to hosts', kind: 'reserved' };
}

const parseRanges = callOnce(() =>
  SPECIAL_RANGES.map(([range, name, kind]) => {
    const found: AddressRange = { range, name, kind: kind ?? 'reserved' };
    return { range: found, contains: parseRange(range) };
  }),
);

/** Returns the function that reports if a range contains an address. */
function parseRange(range: string): (address: ParsedAddress) => boolean {
  const [text = '', length] = range.split('/');
  const first = parseAddress(text)!; // the ranges of this module are valid
  const shift = BigInt(first.bits - Number(length));
  return ({ bits, value }) => bits === first.bits && value >> shift === first.value >> shift;
}

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
/** Upper 96 bits of an IPv6 address that maps an IPv4 address. @source RFC 4291, 2.5.5.2 */
const MAPPED_PREFIX = 0xffffn;

function parseAddress(text: string): ParsedAddress | undefined {
  if (IPV4.test(text)) {
    const bytes = text.split('.').map(Number);
    if (bytes.some((byte) => byte > 255)) return undefined;
    return { bits: 32, value: joinParts(bytes, 8n) };
  }
  const groups = listGroups(text);
  if (groups === undefined) return undefined;
  const value = joinParts(
    groups.map((part) => Number.parseInt(part, 16)),
    16n,
  );
  return value >> 32n === MAPPED_PREFIX ? { bits: 32, value: value & 0xffffffffn } : { bits: 128, value };
}

/** Returns the canonical form of an IPv6 address, which may have a zone, without its brackets; undefined if it is none. */
const formatCanonical = (text: string): string | undefined =>
  text.includes(':') ? URL.parse(`http://[${text.replace(/%.*$/s, '')}]`)?.hostname.slice(1, -1) : undefined;

/** Returns the eight groups of an IPv6 address. */
function listGroups(text: string): string[] | undefined {
  const halves = formatCanonical(text)
    ?.split('::')
    .map((half) => half.split(':').filter((part) => part !== ''));
  if (halves === undefined) return undefined;
  const [head = [], tail = []] = halves;
  return [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
}

/** Number of groups in the prefix of an IPv6 network. One client usually has a whole network. */
const NETWORK_GROUPS = 4;

/** Returns the IPv4 address, or the 64-bit network of an IPv6 address, by which clients are counted. */
export function getNetwork(address: string): string {
  const groups = listGroups(address);
  if (groups === undefined) return address;
  const canonical = formatCanonical(address)!; // it has groups
  return canonical.startsWith('::ffff:') ? canonical : `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

const LOOPBACK = /^(?:localhost\.?|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/i;

/** Returns true if a host name or an address always means this machine. */
export const isLoopbackName = (name: string): boolean => LOOPBACK.test(name);

const joinParts = (parts: readonly number[], bits: bigint): bigint =>
  parts.reduce((value, part) => (value << bits) | BigInt(part), 0n);

/** Decodes a part of an address once; undefined if it has an invalid escape. */
export function decodeAddressPart(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined; // an invalid escape is the only possible error
  }
}
