import { Refusal } from '#domain/refusals/refusal.js';

/** Thrown if artifacts are unavailable because of a wrong setting. Retries are useless then. */
export class ArtifactStoreFault extends Refusal {
  constructor(message: string, cause?: unknown) {
    super('STORE_UNAVAILABLE', message, null, { cause });
  }
}

/** System error codes for an unavailable folder, or a file in it, on another machine. */
const UNAVAILABLE_CODES = new Set(
  'ENOENT ENOTDIR EIO ESTALE ENOTCONN ENODEV ENXIO EHOSTDOWN EHOSTUNREACH ENETUNREACH ETIMEDOUT EACCES EPERM EROFS'.split(
    ' ',
  ),
);

/** Returns true if a failure means that a folder is unavailable. */
export function isUnavailable(thrown: unknown): boolean {
  if (thrown instanceof Refusal) return thrown.code === 'STORE_UNAVAILABLE';
  return UNAVAILABLE_CODES.has(findCode(thrown) ?? '');
}

/** Returns undefined for an error about an absent file. @throws any other error */
export function ignoreAbsentFile(thrown: unknown): undefined {
  if (findCode(thrown) !== 'ENOENT') throw thrown;
}

export const findCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
