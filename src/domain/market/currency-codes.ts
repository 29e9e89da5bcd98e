/** Unit of a currency: its main unit, and the number of main units per unit. */
interface CurrencyUnit {
  readonly major: string;
  readonly scale: number;
}

/** Codes of minor units in which exchanges and vendors quote prices, in addition to those such as GBp. */
const MINOR_UNITS: Readonly<Record<string, CurrencyUnit>> = {
  GBX: { major: 'GBP', scale: 0.01 },
  ZAC: { major: 'ZAR', scale: 0.01 },
  ILA: { major: 'ILS', scale: 0.01 },
  USX: { major: 'USD', scale: 0.01 },
  EUX: { major: 'EUR', scale: 0.01 },
  KWF: { major: 'KWD', scale: 0.001 },
  BHF: { major: 'BHD', scale: 0.001 },
};

/** Former codes of ISO 4217 with prices of exchanges, and codes that are newer than some engines. */
const OTHER_CODES =
  'ATS BEF BGL BYR CSK CYP DEM EEK ESP FIM FRF GRD HRK IEP ITL LTL LUF LVL MTL MXP NLG PLZ PTE ROL RUR SIT SKK SLE TRL VEB VED VEF XCG XEU ZWG';

const CURRENCIES: ReadonlySet<string> = new Set([...Intl.supportedValuesOf('currency'), ...OTHER_CODES.split(' ')]);

/** Currencies with three decimals by ISO 4217: fils, baisas, dirhams and millimes are thousandths. */
const THOUSANDTHS: ReadonlySet<string> = new Set(['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND']);

/** Currencies without a minor unit by ISO 4217. */
const WITHOUT_MINOR_UNIT: ReadonlySet<string> = new Set(
  'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'.split(' '),
);

/** Code of a minor unit by its vendors: the last letter of the code is lower case, as in GBp, ZAc, ILs and KWd. */
const LOWER_CASE_UNIT = /^[A-Z]{2}[a-z]$/;

/** Returns true for a current or former ISO 4217 code, or for a minor unit in which prices are quoted. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code) || findMinorUnit(code) !== undefined;
}

function findMinorUnit(code: string): CurrencyUnit | undefined {
  const upperCase = LOWER_CASE_UNIT.test(code) ? code.toUpperCase() : code;
  if (Object.hasOwn(MINOR_UNITS, upperCase)) return MINOR_UNITS[upperCase];
  if (upperCase === code || !CURRENCIES.has(upperCase) || WITHOUT_MINOR_UNIT.has(upperCase)) return undefined;
  return { major: upperCase, scale: THOUSANDTHS.has(upperCase) ? 0.001 : 0.01 };
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
export function findUnit(code: string): CurrencyUnit {
  return findMinorUnit(code) ?? { major: code, scale: 1 };
}

/** Returns the identifier of the security or series that contains the price of one currency in another. */
export function createPair(from: string, to: string): string {
  return `${findUnit(from).major}${findUnit(to).major}`;
}
