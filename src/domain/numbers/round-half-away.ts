/**
 * Rounds to a number of decimals, halves away from zero. Rounds the shortest decimal representation, so 1.005 becomes
 * 1.01 with two decimals.
 * @param decimals 0 to 15
 */
export function roundHalfAwayFromZero(value: number, decimals: number): number {
  if (!Number.isFinite(value)) return value;
  const magnitude = Math.abs(value);
  const roundedMagnitude = shiftDecimals(Math.round(shiftDecimals(magnitude, decimals)), -decimals);
  return value < 0 ? 0 - roundedMagnitude : roundedMagnitude;
}

/** Multiplies a number by a power of ten, by its decimal digits. */
function shiftDecimals(value: number, by: number): number {
  const [digits, exponent = '0'] = String(value).split('e');
  return Number(`${digits}e${Number(exponent) + by}`);
}
