import { Refusal } from '#domain/refusals/refusal.js';

/** Artifacts cannot be had for a reason that another setting mends, and no time. */
export class PlaceFault extends Refusal {
  constructor(message: string, cause?: unknown) {
    super('STORE_UNAVAILABLE', message, null, { cause });
  }
}

/** What the system says of a folder, or of a file in it, that another machine has and does not give now. */
const AWAY = new Set(
  'ENOENT ENOTDIR EIO ESTALE ENOTCONN ENODEV ENXIO EHOSTDOWN EHOSTUNREACH ENETUNREACH ETIMEDOUT EACCES EPERM EROFS'.split(
    ' ',
  ),
);

/** Whether a failure says that a folder is away. */
export function isAway(thrown: unknown): boolean {
  if (thrown instanceof Refusal) return thrown.code === 'STORE_UNAVAILABLE';
  return AWAY.has(codeOf(thrown) ?? '');
}

/** Takes a file that is not there as none. @returns undefined @throws every other failure */
export function unlessAbsent(thrown: unknown): undefined {
  if (codeOf(thrown) !== 'ENOENT') throw thrown;
}

export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
