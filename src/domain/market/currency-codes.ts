/** Currency units that are hundredths of a main unit. */
const MINOR_UNITS: Readonly<Record<string, { readonly major: string; readonly scale: number }>> = {
  GBX: { major: 'GBP', scale: 0.01 },
  ZAC: { major: 'ZAR', scale: 0.01 },
  ILA: { major: 'ILS', scale: 0.01 },
};

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** Returns true for a current or former ISO 4217 code, or for a minor unit in which prices are quoted. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code) || Object.hasOwn(MINOR_UNITS, code);
}

/**
 * Splits a text such as EURUSD into two currency codes. The currencies need not exist. Returns undefined if the length
 * differs.
 */
export function parsePair(name: string): readonly [from: string, to: string] | undefined {
  return name.length === 6 ? [name.slice(0, 3), name.slice(3)] : undefined;
}

/** Returns the currency to which a code belongs: GBP for GBX. */
export function findMajorUnit(code: string): string {
  return findUnit(code).major;
}

/** Returns the main unit of a code, and the number of main units per unit of the code. */
export function findUnit(code: string): { readonly major: string; readonly scale: number } {
  return MINOR_UNITS[code] ?? { major: code, scale: 1 };
}

/** Returns the identifier of the security or series that contains the price of one currency in another. */
export function createPair(from: string, to: string): string {
  return `${findUnit(from).major}${findUnit(to).major}`;
}
