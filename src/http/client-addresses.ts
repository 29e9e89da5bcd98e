import { isIP, type Server, type Socket } from 'node:net';
import { LIMITS } from '#domain/refusals/limits.js';
import type { IsAddressOf } from '#services/operations/address-ranges.js';

/**
 * Returns the address of a client: that of the connection, or behind trusted proxies the last untrusted one in
 * `X-Forwarded-For`.
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
    if (isIP(address) === 0) return client; // earlier entries are untrusted
    client = address;
    if (!isTrustedProxy(address)) return client;
  }
  return client;
}

/** Closes connections beyond the limit of an address, except those of trusted proxies. */
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
