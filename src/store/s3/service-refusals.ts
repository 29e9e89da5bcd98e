import type { S3Access } from '../access/s3-access.js';

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
