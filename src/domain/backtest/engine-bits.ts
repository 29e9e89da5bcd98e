import { compareVersions, parseVersion } from '#base/text/version.js';

/**
 * First engine version whose runs have the same bits as runs of this version. Set it to the next release when the bits
 * change: earlier runs are then reported as stale.
 */
export const SAME_BITS_SINCE = '0.5.0';

/**
 * Returns true if a run of another version may have other bits: the version is earlier than `SAME_BITS_SINCE`, or later
 * than this one.
 */
export function hasOtherBits(stored: string, current: string, since: string = SAME_BITS_SINCE): boolean {
  if (stored === current) return false;
  const [before, now, first] = [parseVersion(stored), parseVersion(current), parseVersion(since)];
  if (before === undefined || now === undefined || first === undefined) return true;
  return compareVersions(before, first) < 0 || compareVersions(before, now) > 0;
}
