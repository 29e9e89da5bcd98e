import type { S3Access } from '../port.js';

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
export function formatResponse(answer: string, cause: unknown): string {
  if (answer !== '') return `: it answers ${answer}`;
  const { code, name, message } = ((cause as Error | undefined)?.cause ?? cause ?? {}) as NodeJS.ErrnoException;
  if (name === 'TimeoutError') return ': it does not answer'; // the code of this error is a legacy number
  // If a server accepts a connection and closes it without a response, it may expect TLS.
  if (code === 'UND_ERR_SOCKET') return ': it closes the connection without an answer, like an https:// port';
  const failureText = code ?? message;
  return failureText ? `: ${failureText}` : '';
}

/** Matches error codes of expired keys. */
export const EXPIRED_TOKEN = /^(ExpiredToken|InvalidToken)$/;

/** Settings to check, by the error code of a service. Messages repeat only the code. */
const SETTING_HINTS: readonly (readonly [code: RegExp, setting: string])[] = [
  [
    /^(InvalidAccessKeyId|SignatureDoesNotMatch)$/,
    'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or those of the profile, are unknown to it',
  ],
  [EXPIRED_TOKEN, 'AWS_SESSION_TOKEN has expired or belongs to another key'],
  [
    /^(AccessDenied|AllAccessDisabled)$/,
    'the role, or the key of AWS_ACCESS_KEY_ID, may not read, write and list there',
  ],
  [/^RequestTimeTooSkewed$/, 'the clock of this machine is wrong'],
  [
    /^(AuthorizationHeaderMalformed|PermanentRedirect|TemporaryRedirect|IllegalLocationConstraintException|IncorrectEndpoint)$/,
    'the bucket is not in the region of AWS_REGION or AWS_ENDPOINT_URL_S3',
  ],
];

/** Returns the sentence for a refusal that requires other settings. */
export function explainRefusal({ endpoint, region, bucket }: S3Access, status: number, code: string): string {
  const setting = SETTING_HINTS.find(([pattern]) => pattern.test(code))?.[1];
  const refusal = `The object store ${endpoint} refused the bucket ${bucket} (region ${region}) with ${`${status} ${code}`.trim()}`;
  if (setting === undefined && status === 400 && code === '')
    return `${refusal}: should AWS_ENDPOINT_URL_S3 begin with https://?`;
  return setting === undefined ? `${refusal}.` : `${refusal}: ${setting}.`;
}

/** Matches error codes of a corrupted or slow request body, all with status 400. */
const FAULTY_BODY = /^(XAmzContentSHA256Mismatch|BadDigest|RequestTimeout)$/;

/**
 * Returns true for a response after which a request may succeed later. The service is overloaded, starting or stopping,
 * or the request body must be sent again.
 */
export const mayPass = (status: number, code: string): boolean =>
  status >= 500 || status === 429 || status === 408 || FAULTY_BODY.test(code);
