import { findNearestName } from '#base/nearest-name.js';

/** Values of `sslmode`, with the encryption and verification of the server certificate that they mean. */
export const SSL_MODES = {
  disable: 'not encrypted',
  'no-verify': 'encrypted, without verification of the certificate',
  'verify-full': 'encrypted, with a certificate of a known authority for the host',
  // The driver treats these modes as verify-full and warns. Here there is no warning, and the connection is never less
  // secure than requested.
  require: 'same as verify-full',
  'verify-ca': 'same as verify-full',
} as const;

/** URL parameters with files: the certificate authority, and the certificate and key of a client. */
export const URL_FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/** Parameters that the driver supports. It ignores others, even a misspelt `sslmode`. */
const URL_PARAMETERS = ['sslmode', ...URL_FILES, 'host', 'port', 'user', 'application_name'];

const URL_FORM =
  'must be like postgres://user:password@host:5432/name, with %40 for @, %23 for #, %2F for / and %3F for ? in the password';

/**
 * Returns the error in a database URL as a clause. Returns undefined if the URL is valid. The error repeats no part of
 * the URL, because any part of an invalid URL may be the password.
 */
export function findUrlFault(text: string): string | undefined {
  if (!/^postgres(ql)?:\/\/\S+$/.test(text) || !URL.canParse(text)) return URL_FORM;
  const url = new URL(text);
  // If a special character is not encoded, the text after it belongs to another component of the URL.
  if (url.hash !== '' || `${url.pathname}${url.search}`.includes('@')) return URL_FORM;
  const names = [...url.searchParams.keys()];
  if (names.includes('password')) return 'has the password after ?: write user:password@host, or set PGPASSWORD';
  const unknownParameter = names.find((name) => !URL_PARAMETERS.includes(name));
  if (unknownParameter !== undefined) {
    const nearestName = findNearestName(unknownParameter, URL_PARAMETERS);
    return `has an unknown parameter${nearestName ? ` (did you mean ${nearestName}?)` : ''}; the parameters are ${URL_PARAMETERS.join(', ')}`;
  }
  const mode = url.searchParams.get('sslmode');
  if (mode !== null && !Object.hasOwn(SSL_MODES, mode))
    return `has an unknown sslmode; it must be one of ${Object.keys(SSL_MODES).join(', ')}`;
  return undefined;
}

/** Converts the URL to the form that the driver accepts without a warning. */
export const toDriverUrl = (url: string): string =>
  url.replace(/([?&]sslmode=)(?:require|verify-ca)(?=&|$)/, '$1verify-full');
