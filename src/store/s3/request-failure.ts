/**
 * Returns the reason why a certificate is not trusted. Retries are useless then. Returns undefined for another failure.
 */
export function findDistrustReason(cause: unknown): string | undefined {
  const code = findCode(cause);
  return code !== undefined && /CERT|UNABLE_TO_/.test(code) ? code : undefined;
}

/** Returns true if the first bytes of the response are not TLS. */
export const isWithoutTls = (cause: unknown): boolean =>
  /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(findCode(cause) ?? '');

/** Returns true if the service closed the connection before a response. */
export const isClosed = (cause: unknown): boolean => /^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(findCode(cause) ?? '');

/** Returns the error code of a request that failed before a response. */
const findCode = (cause: unknown): string | undefined =>
  ((cause as Error | undefined)?.cause as NodeJS.ErrnoException | undefined)?.code;

/**
 * Describes the failure of a request in a few words. @param answer status and code of a response; empty if there was no
 * response
 */
export function formatReason(answer: string, cause: unknown): string {
  if (answer !== '') return `: it answers ${answer}`;
  const { code, name, message } = ((cause as Error | undefined)?.cause ?? cause ?? {}) as NodeJS.ErrnoException;
  if (name === 'TimeoutError') return ': it does not answer'; // the code of this error is a legacy number
  // If a server accepts a connection and closes it without a response, it may expect TLS.
  if (code === 'UND_ERR_SOCKET') return ': it closes the connection without an answer, like an https:// port';
  const failureText = code ?? message;
  return failureText ? `: ${failureText}` : '';
}
