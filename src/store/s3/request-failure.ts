/** Why a certificate is not trusted, which no time heals; undefined for another failure. */
export function distrustOf(cause: unknown): string | undefined {
  const code = codeOf(cause);
  return code !== undefined && /CERT|UNABLE_TO_/.test(code) ? code : undefined;
}

/** Whether what answers does not speak TLS, by the first bytes of its answer. */
export const isWithoutTls = (cause: unknown): boolean =>
  /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(codeOf(cause) ?? '');

/** Code of what a request failed with before there was an answer. */
const codeOf = (cause: unknown): string | undefined =>
  ((cause as Error | undefined)?.cause as NodeJS.ErrnoException | undefined)?.code;

/** Why there was no answer that helps, in a few words. @param said status and code of an answer; empty without one */
export function reasonOf(said: string, cause: unknown): string {
  if (said !== '') return `: it answers ${said}`;
  const { code, name, message } = ((cause as Error | undefined)?.cause ?? cause ?? {}) as NodeJS.ErrnoException;
  if (name === 'TimeoutError') return ': it does not answer'; // Its code is a number of the past.
  // What accepts a connection and closes it without an answer may want TLS.
  if (code === 'UND_ERR_SOCKET') return ': it closes the connection without an answer, as a port of https:// does';
  const why = code ?? message;
  return why ? `: ${why}` : '';
}
