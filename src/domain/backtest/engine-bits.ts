import { compareVersions, parseVersion } from '#base/text/version.js';

/**
 * First engine version with results bit-identical to those of this version. Set it to the next release when results
 * change: runs of earlier versions are then reported as stale.
 */
export const BIT_IDENTICAL_SINCE = '0.8.0';

/**
 * Returns true if the results of a stored run may not be bit-identical to those of this version. This is the case if
 * its version is earlier than `BIT_IDENTICAL_SINCE`, is later than the current version or cannot be parsed.
 */
export function mayDifferInBits(stored: string, current: string, since: string = BIT_IDENTICAL_SINCE): boolean {
  if (stored === current) return false;
  const [before, now, first] = [parseVersion(stored), parseVersion(current), parseVersion(since)];
  if (before === undefined || now === undefined || first === undefined) return true;
  return compareVersions(before, first) < 0 || compareVersions(before, now) > 0;
}
