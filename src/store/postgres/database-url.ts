import { nearestName } from '#base/text/nearest-name.js';

/** What `sslmode` may be: whether a connection is encrypted, and what is asked of the server's certificate. */
export const SSL_MODES = {
  disable: 'not encrypted',
  'no-verify': 'encrypted; the certificate is not looked at',
  'verify-full': 'encrypted; the certificate is of a known authority and for the host',
  // As the driver has it, without its warning: never less than was asked for.
  require: 'as verify-full',
  'verify-ca': 'as verify-full',
} as const;

/** Files of an address: the authority, and the certificate and key of a client. */
export const URL_FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/** What the driver acts upon; it ignores other parameters, a misspelt `sslmode` too. */
const PARAMETERS = ['sslmode', ...URL_FILES, 'host', 'port', 'user', 'application_name'];

const FORM =
  'must be like postgres://user:password@host:5432/name, with %40 for @, %23 for #, %2F for / and %3F for ? in the password';

/**
 * What is wrong with the address of a database, as a clause; undefined for one that can be connected to. It repeats
 * nothing of the address: any part of one that is written wrong may be the password.
 */
export function databaseUrlFault(text: string): string | undefined {
  if (!/^postgres(ql)?:\/\/\S+$/.test(text) || !URL.canParse(text)) return FORM;
  const url = new URL(text);
  // What follows a character that was not encoded is read as another part.
  if (url.hash !== '' || `${url.pathname}${url.search}`.includes('@')) return FORM;
  const names = [...url.searchParams.keys()];
  if (names.includes('password')) return 'has the password behind ?: write user:password@host, or set PGPASSWORD';
  const unknown = names.find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) {
    const meant = nearestName(unknown, PARAMETERS);
    return `has an unknown parameter${meant ? `, perhaps ${meant} is meant` : ''}; the parameters are ${PARAMETERS.join(', ')}`;
  }
  const mode = url.searchParams.get('sslmode');
  if (mode !== null && !Object.hasOwn(SSL_MODES, mode))
    return `has an unknown sslmode; it is one of ${Object.keys(SSL_MODES).join(', ')}`;
  return undefined;
}

/** The address as the driver takes it without a warning. */
export const driverUrl = (url: string): string =>
  url.replace(/([?&]sslmode=)(?:require|verify-ca)(?=&|$)/, '$1verify-full');
