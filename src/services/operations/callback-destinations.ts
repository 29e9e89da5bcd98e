import { BlockList, isIP } from 'node:net';
import { callOnce } from '#base/once.js';

export interface CallbackDestinationOptions {
  /** Permitted hosts: `host` for the port of the scheme, or `host:port`. */
  readonly hosts: readonly string[];
  /** True to allow addresses of this machine and of private networks. */
  readonly isPrivateAllowed: boolean;
  /** True if messages can be signed. */
  readonly hasSecret: boolean;
}

/** Permitted destinations of messages. */
export interface CallbackDestinations {
  /** Returns the reason why callbacks to a URL are not permitted; undefined if they are permitted. */
  findProblem(url: string): AddressProblem | undefined;
  /** Returns true if connections to an IP address are allowed. */
  isAddressAllowed(address: string): boolean;
}

interface AddressProblem {
  readonly reason: string;
  readonly isFinal: true;
}

export function createCallbackDestinations({
  hosts,
  isPrivateAllowed,
  hasSecret,
}: CallbackDestinationOptions): CallbackDestinations {
  const allowedHosts = new Set(hosts.map((host) => host.toLowerCase()));
  const isAddressAllowed = (address: string): boolean =>
    !isIn(getReservedNetworks(), address) && (isPrivateAllowed || !isIn(getPrivateNetworks(), address));

  return {
    isAddressAllowed,
    findProblem(text) {
      const url = URL.parse(text);
      if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
        return createProblem('The callback must be an http or https URL.');
      if (url.username !== '' || url.password !== '')
        return createProblem(
          'The callback must contain no user and no password: everybody who may read the job sees it.',
        );
      if (!hasSecret || allowedHosts.size === 0)
        return createProblem(
          'Callbacks are not configured on this service (--callback-hosts, DIVISOR_CALLBACK_HOSTS, DIVISOR_CALLBACK_SECRET).',
        );
      const host = url.hostname.toLowerCase();
      const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
      if (!allowedHosts.has(`${host}:${port}`) && !(url.port === '' && allowedHosts.has(host)))
        return createProblem('The host of the callback is none of those the operator allows (DIVISOR_CALLBACK_HOSTS).');
      const address = host.replace(/^\[|\]$/g, '');
      return isIP(address) !== 0 && !isAddressAllowed(address)
        ? createProblem('The callback is a private address, which the operator does not allow (--callback-private).')
        : undefined;
    },
  };
}

/** Address ranges of this machine and of private networks. @source IANA special-purpose address registries */
const getPrivateNetworks = callOnce(() =>
  createBlockList(['127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10', '::1/128 fc00::/7']),
);

/**
 * Address ranges to which nothing may be sent: unspecified, link-local (cloud metadata), multicast, reserved, and IPv6
 * addresses that map to IPv4.
 * @source IANA special-purpose address registries
 */
const getReservedNetworks = callOnce(() =>
  createBlockList([
    '0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3',
    '::/128 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/32 2001:db8::/32 2002::/16 fe80::/9 ff00::/8',
    // IPv4 addresses after 96 zero bits. The address ::1 is not in these ranges.
    '::100:0/104 ::200:0/103 ::400:0/102 ::800:0/101 ::1000:0/100 ::2000:0/99 ::4000:0/98 ::8000:0/97',
  ]),
);

function createBlockList(lists: readonly string[]): BlockList {
  const ranges = new BlockList();
  for (const range of lists.flatMap((list) => list.split(' '))) {
    const [address = '', bits = ''] = range.split('/');
    ranges.addSubnet(address, Number(bits), getFamily(address));
  }
  return ranges;
}

/** Returns true if the ranges contain an address. An IPv4 address in IPv6 form also matches IPv4 ranges. */
const isIn = (ranges: BlockList, address: string): boolean => ranges.check(address, getFamily(address));

function getFamily(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

const createProblem = (reason: string): AddressProblem => ({ reason, isFinal: true });
