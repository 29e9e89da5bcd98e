import { Refusal } from '#domain/refusals/refusal.js';

/** Thrown if artifacts are unavailable because of a setting, so that waiting does not help. */
export class PlaceFault extends Refusal {
  constructor(message: string, cause?: unknown) {
    super('STORE_UNAVAILABLE', message, null, { cause });
  }
}

/** System error codes of an unavailable folder, or of a file in it, that another machine serves. */
const AWAY = new Set(
  'ENOENT ENOTDIR EIO ESTALE ENOTCONN ENODEV ENXIO EHOSTDOWN EHOSTUNREACH ENETUNREACH ETIMEDOUT EACCES EPERM EROFS'.split(
    ' ',
  ),
);

/** Returns true for a failure that means an unavailable folder. */
export function isAway(thrown: unknown): boolean {
  if (thrown instanceof Refusal) return thrown.code === 'STORE_UNAVAILABLE';
  return AWAY.has(codeOf(thrown) ?? '');
}

/** Ignores an absent file. @returns undefined @throws every other failure */
export function ignoreAbsentFile(thrown: unknown): undefined {
  if (codeOf(thrown) !== 'ENOENT') throw thrown;
}

export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
