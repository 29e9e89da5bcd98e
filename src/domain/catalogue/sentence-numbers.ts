/** Numbers as sentences write them, in decimals: no digit is rounded away. */

/** A number with its thousands grouped: `1,000,000`, `0.05`. */
export function numberText(value: number): string {
  const [whole = '', decimals] = String(value).split('.');
  if (whole.includes('e')) return String(value);
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return decimals === undefined ? grouped : `${grouped}.${decimals}`;
}

/** A fraction as percent, moved by powers of ten in decimals: 0.07 is `7%`. */
export const shareText = (fraction: number): string => {
  const [digits = '', exponent = '0'] = String(fraction).split('e');
  return `${numberText(Number(`${digits}e${Number(exponent) + 2}`))}%`;
};
