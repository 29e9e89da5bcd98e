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
