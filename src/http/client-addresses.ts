import { isIP, type Server, type Socket } from 'node:net';
import { LIMITS } from '#domain/refusals/limits.js';
import type { IsAddressOf } from '#services/operations/address-ranges.js';

/**
 * Returns the address of a client: the peer address, or behind trusted proxies the last untrusted address in
 * `X-Forwarded-For`.
 */
export function resolveClientAddress(
  peer: string | undefined,
  forwardedFor: string | null,
  isTrustedProxy: IsAddressOf,
): string | undefined {
  if (peer === undefined || forwardedFor === null || !isTrustedProxy(peer)) return peer;
  let client = peer;
  for (const hop of forwardedFor.split(',').toReversed()) {
    const address = hop.trim();
    if (isIP(address) === 0) return client; // earlier entries are untrusted
    client = address;
    if (!isTrustedProxy(address)) return client;
  }
  return client;
}

/** Closes connections beyond the limit of an address or network, except those of trusted proxies. */
export function limitConnections(
  server: Pick<Server, 'on'>,
  isTrustedProxy: IsAddressOf,
  maxConnections: number = LIMITS.MAX_ADDRESS_CONNECTIONS,
): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const peer = socket.remoteAddress;
    if (peer === undefined || isTrustedProxy(peer)) return;
    const address = getNetwork(peer);
    const count = (open.get(address) ?? 0) + 1;
    if (count > maxConnections) {
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const remainingCount = open.get(address)! - 1;
      if (remainingCount === 0) open.delete(address);
      else open.set(address, remainingCount);
    });
  });
}

/** Number of groups in an IPv6 address and in the prefix of its network; a client usually has a whole network. */
const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** Returns the key for counting a client's connections and wrong keys: its address, or its IPv6 network of 64 bits. */
export function getNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const canonical = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname.slice(1, -1);
  if (canonical.startsWith('::ffff:')) return canonical; // an IPv4 address in IPv6 form
  const [head = [], tail = []] = canonical.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const groups = [...head, ...Array.from({ length: GROUPS - head.length - tail.length }, () => '0'), ...tail];
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
