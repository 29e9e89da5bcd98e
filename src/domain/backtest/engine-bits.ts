import { compareVersions, parseVersion } from '#base/text/version.js';

/**
 * First version of the engine whose runs have the bits of this one's. A change of the bits of a run sets it to the
 * version that it is released with: earlier runs are reported as stale.
 */
export const SAME_BITS_SINCE = '0.3.0';

/**
 * Whether a run of another version may have other bits than this engine gives: of an earlier one than is known to have
 * them, or a later one.
 */
export function hasOtherBits(stored: string, current: string, since: string = SAME_BITS_SINCE): boolean {
  if (stored === current) return false;
  const [before, now, first] = [parseVersion(stored), parseVersion(current), parseVersion(since)];
  if (before === undefined || now === undefined || first === undefined) return true;
  return compareVersions(before, first) < 0 || compareVersions(before, now) > 0;
}
