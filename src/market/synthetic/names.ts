import type { CounterRandom } from '#kernels/random/counter-random.js';

const CONSONANTS = 'BCDFGHJKLMNPQRSTVWXZ';
const VOWELS = 'AEIOUY';

/** Number of possible identifiers: consonant, vowel, consonant, consonant. */
export const TICKERS_MAX = CONSONANTS.length * CONSONANTS.length ** 2 * VOWELS.length;

/**
 * Prime without a common divisor with the number of identifiers. Consecutive identifiers then look different and are
 * distinct.
 */
const TICKER_STEP = 7919;

/** Returns the identifier of the k-th security. */
export function formatTicker(k: number): string {
  let code = (k * TICKER_STEP + 1009) % TICKERS_MAX;
  const drawLetter = (letters: string) => {
    const letter = letters[code % letters.length]!;
    code = Math.floor(code / letters.length);
    return letter;
  };
  return drawLetter(CONSONANTS) + drawLetter(VOWELS) + drawLetter(CONSONANTS) + drawLetter(CONSONANTS);
}

const NAME_ENDINGS = ['ar', 'en', 'is', 'on', 'ex', 'ia', 'or', 'us', 'um', 'eo'];
const BUSINESS_WORDS = [
  'Group',
  'Holdings',
  'Industries',
  'Systems',
  'Partners',
  'Works',
  'Labs',
  'Brands',
  'Energy',
  'Trust',
  'Networks',
  'Capital',
];

export function drawCompanyName(identifier: string, random: CounterRandom): string {
  const stem = identifier[0]! + identifier.slice(1).toLowerCase();
  return `${stem}${NAME_ENDINGS[random.integer(NAME_ENDINGS.length)]!} ${BUSINESS_WORDS[random.integer(BUSINESS_WORDS.length)]!}`;
}

export interface Sector {
  readonly sector: string;
  readonly industries: readonly string[];
  /**
   * Profit margin and valuation ratios (price to earnings, price to book) of companies in the sector. Each is the
   * centre of a wide range.
   */
  readonly margin: number;
  readonly priceToEarnings: number;
  readonly priceToBook: number;
}

/** Sectors with their industries. Smaller markets use only the first sectors. */
export const SECTORS: readonly Sector[] = [
  {
    sector: 'Technology',
    industries: ['Software', 'Semiconductors', 'Hardware'],
    margin: 0.18,
    priceToEarnings: 24,
    priceToBook: 4,
  },
  {
    sector: 'Financials',
    industries: ['Banks', 'Insurance', 'Capital Markets'],
    margin: 0.2,
    priceToEarnings: 12,
    priceToBook: 1.2,
  },
  {
    sector: 'Health Care',
    industries: ['Pharmaceuticals', 'Medical Devices', 'Care Providers'],
    margin: 0.13,
    priceToEarnings: 21,
    priceToBook: 3.5,
  },
  {
    sector: 'Industrials',
    industries: ['Machinery', 'Transport', 'Aerospace'],
    margin: 0.08,
    priceToEarnings: 17,
    priceToBook: 2.5,
  },
  {
    sector: 'Consumer Discretionary',
    industries: ['Retail', 'Leisure', 'Automobiles'],
    margin: 0.06,
    priceToEarnings: 18,
    priceToBook: 3,
  },
  {
    sector: 'Consumer Staples',
    industries: ['Food', 'Beverages', 'Household Products'],
    margin: 0.08,
    priceToEarnings: 19,
    priceToBook: 3,
  },
  {
    sector: 'Energy',
    industries: ['Oil and Gas', 'Energy Services'],
    margin: 0.08,
    priceToEarnings: 13,
    priceToBook: 1.5,
  },
  {
    sector: 'Communication Services',
    industries: ['Media', 'Telecoms'],
    margin: 0.12,
    priceToEarnings: 17,
    priceToBook: 2.2,
  },
  { sector: 'Materials', industries: ['Chemicals', 'Metals'], margin: 0.09, priceToEarnings: 15, priceToBook: 1.8 },
  { sector: 'Utilities', industries: ['Electricity', 'Water'], margin: 0.12, priceToEarnings: 16, priceToBook: 1.5 },
  { sector: 'Real Estate', industries: ['Offices', 'Housing'], margin: 0.25, priceToEarnings: 22, priceToBook: 1.6 },
];

/** Countries of large exchanges. Securities of other exchanges have no country. */
const COUNTRIES: Readonly<Record<string, string>> = {
  XNYS: 'US',
  XNAS: 'US',
  XLON: 'GB',
  XETR: 'DE',
  XFRA: 'DE',
  XPAR: 'FR',
  XAMS: 'NL',
  XMIL: 'IT',
  XMAD: 'ES',
  XSWX: 'CH',
  XSTO: 'SE',
  XTKS: 'JP',
  XHKG: 'HK',
  XSHG: 'CN',
  XTSE: 'CA',
  XASX: 'AU',
  XBOM: 'IN',
  XNSE: 'IN',
  XKRX: 'KR',
  XSES: 'SG',
  BVMF: 'BR',
  XJSE: 'ZA',
};

export function findCountry(exchange: string): string | null {
  return Object.hasOwn(COUNTRIES, exchange) ? COUNTRIES[exchange]! : null;
}
