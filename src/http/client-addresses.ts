import { BlockList, isIP, type Server, type Socket } from 'node:net';
import { LIMITS } from '#domain/limits.js';

/** Whether an address is one of a set. */
export type IsAddressOf = (address: string) => boolean;

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Whether a text is an address or a range of addresses, as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [address = '', bits, more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/**
 * The addresses of some ranges; one of IPv4 written as one of IPv6 is found in the ranges of IPv4.
 * @param ranges addresses and ranges, each as `isAddressRange` accepts it
 */
export function addressesOf(ranges: readonly string[]): IsAddressOf {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
}

/**
 * The address of a client: that of the connection, or where a trusted proxy made it the last one before trusted proxies
 * in `X-Forwarded-For`.
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | null,
  isTrustedProxy: IsAddressOf,
): string | undefined {
  if (peer === undefined || forwardedFor === null || !isTrustedProxy(peer)) return peer;
  let client = peer;
  for (const hop of forwardedFor.split(',').toReversed()) {
    const address = hop.trim();
    if (isIP(address) === 0) return client; // what stands before it cannot be trusted
    client = address;
    if (!isTrustedProxy(address)) return client;
  }
  return client;
}

/** Closes connections of an address that has too many, those of trusted proxies excepted. */
export function limitConnections(
  server: Pick<Server, 'on'>,
  isTrustedProxy: IsAddressOf,
  most: number = LIMITS.MAX_ADDRESS_CONNECTIONS,
): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress;
    if (address === undefined || isTrustedProxy(address)) return;
    const count = (open.get(address) ?? 0) + 1;
    if (count > most) {
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const left = open.get(address)! - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
}
