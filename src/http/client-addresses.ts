import { isIP, type Server, type Socket } from 'node:net';
import { LIMITS } from '#domain/base/limits.js';
import type { IsAddressOf } from '#services/keys/keys.js';

/**
 * Returns the address of a client. This is the address of the connection. Behind trusted proxies, it is the last
 * address in `X-Forwarded-For` that is not a trusted proxy.
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

/** Closes connections if an address or a network has too many. Connections of trusted proxies are not limited. */
export function limitConnections(
  server: Pick<Server, 'on'>,
  isTrustedProxy: IsAddressOf,
  maxConnections: number = LIMITS.MAX_ADDRESS_CONNECTIONS,
): void {
  const openCounts = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const peer = socket.remoteAddress;
    if (peer === undefined || isTrustedProxy(peer)) return;
    const address = getNetwork(peer);
    const count = (openCounts.get(address) ?? 0) + 1;
    if (count > maxConnections) {
      socket.destroy();
      return;
    }
    openCounts.set(address, count);
    socket.once('close', () => {
      const remainingCount = openCounts.get(address)! - 1;
      if (remainingCount === 0) openCounts.delete(address);
      else openCounts.set(address, remainingCount);
    });
  });
}

/**
 * Number of groups in an IPv6 address, and number of groups in the prefix of its network. One client usually has a
 * whole network.
 */
const GROUPS = 8;
const NETWORK_GROUPS = 4;

/**
 * Returns the key by which connections and wrong keys are counted: the IPv4 address, or the 64-bit network of an IPv6
 * address.
 */
export function getNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const canonical = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname.slice(1, -1);
  if (canonical.startsWith('::ffff:')) return canonical; // an IPv4 address in IPv6 form
  const [head = [], tail = []] = canonical.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const groups = [...head, ...Array.from({ length: GROUPS - head.length - tail.length }, () => '0'), ...tail];
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
