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
