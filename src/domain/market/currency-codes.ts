/** Currency units that are hundredths of another. */
const MINOR_UNITS: Readonly<Record<string, { readonly major: string; readonly scale: number }>> = {
  GBX: { major: 'GBP', scale: 0.01 },
  ZAC: { major: 'ZAR', scale: 0.01 },
  ILA: { major: 'ILS', scale: 0.01 },
};

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** Returns true for a current or former ISO 4217 code, or a minor unit in which prices are quoted. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code) || Object.hasOwn(MINOR_UNITS, code);
}

/** Splits a name such as EURUSD into two currency codes, which need not exist; undefined if its length differs. */
export function parsePair(name: string): readonly [from: string, to: string] | undefined {
  return name.length === 6 ? [name.slice(0, 3), name.slice(3)] : undefined;
}

/** Returns the currency whose main unit a code belongs to: GBP for GBX. */
export function findMajorUnit(code: string): string {
  return findUnit(code).major;
}

/** Returns the main unit of a code, and the number of main units in one of its units. */
export function findUnit(code: string): { readonly major: string; readonly scale: number } {
  return MINOR_UNITS[code] ?? { major: code, scale: 1 };
}

/** Returns the identifier or series of the market that contains the price of one currency in another. */
export function createPair(from: string, to: string): string {
  return `${findUnit(from).major}${findUnit(to).major}`;
}
