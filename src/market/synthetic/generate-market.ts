import { type Day, formatDay } from '#domain/base/time.js';
import { compareText } from '#domain/base/findings.js';
import type { Membership, ReferenceRow, ReferenceTable, ReferenceValue } from '#domain/market/market-data.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { compareActions } from '../content/action-rows.js';
import type { MarketContent } from '../content/market-content.js';
import { allocateEmptyPanel } from '../panels/panels.js';
import { type Birth, type Company, type Report, simulateCompany, SPIN_OFF_SHARE } from './company.js';
import { drawFactors, SESSIONS_PER_YEAR, STREAMS, type SyntheticSpec } from './factors.js';
import { drawCompanyName, findCountry, SECTORS, formatTicker, TICKERS_MAX } from './names.js';

/** Universe that contains every security while the security is listed. */
export const SYNTHETIC_UNIVERSE = 'SYNTH';

/** Number of random streams for one security and the securities spun off from it. */
const STREAMS_PER_SECURITY = 128;

/** Smallest and largest initial market value of a security, in the market's currency. */
const VALUE_MIN = 4e8;
const VALUE_MAX = 1.2e12;

/**
 * Generates a market from a seed. The market has a common factor and sectors, and securities with fat-tailed returns
 * and volatility clusters. It has bars, dividends, splits, listings, spin-offs, takeovers, mergers and bankruptcies.
 * Equal specs give bit-identical markets on every platform. A spec that differs only by later sessions gives the same
 * bars on the earlier sessions.
 * @cost 0.8 µs a bar.
 */
export function generateMarket(spec: SyntheticSpec, onProgress: (fraction: number) => void): MarketContent {
  const factors = drawFactors(spec);
  const births = [...drawInitialSecurities(spec), ...drawListings(spec)];
  const companies: Company[] = [];
  for (const birth of births) {
    companies.push(simulateCompany(birth, { spec, factors, elders: companies }));
    if (companies.length % 16 === 0) onProgress(companies.length / births.length);
  }
  const spinOffBirths = companies
    .flatMap(({ children }) => children)
    .map((birth) => simulateCompany(birth, { spec, factors, elders: [] }));
  return createContent(
    spec,
    [...companies, ...spinOffBirths].toSorted((a, b) => compareText(a.birth.identifier, b.birth.identifier)),
  );
}

function drawInitialSecurities(spec: SyntheticSpec): Birth[] {
  return Array.from({ length: spec.assets }, (_, rank) => drawSecurity(spec, rank, 0));
}

/** Draws later listings. The mean number per session gives the requested number per year. */
function drawListings(spec: SyntheticSpec): Birth[] {
  const random = createCounterRandom({ seed: spec.seed, stream: STREAMS.listings });
  const rate = ((1 - SPIN_OFF_SHARE) * spec.listings_per_year * spec.assets) / SESSIONS_PER_YEAR;
  const births: Birth[] = [];
  for (let t = 1; t < spec.sessions.length; t++) {
    const count = Math.floor(rate) + (random.uniform() < rate - Math.floor(rate) ? 1 : 0);
    for (let k = 0; k < count; k++) births.push(drawSecurity(spec, spec.assets + births.length, t));
  }
  return births;
}

function drawSecurity(spec: SyntheticSpec, rank: number, listed: number): Birth {
  if (rank >= TICKERS_MAX) throw new Error(`${rank} names; at most ${TICKERS_MAX} have an identifier`);
  const stream = STREAMS.names + rank * STREAMS_PER_SECURITY;
  const random = createCounterRandom({ seed: spec.seed, stream: stream + 7 });
  const identifier = formatTicker(rank);
  const name = drawCompanyName(identifier, random);
  const sector = random.integer(spec.sectors);
  const { industries } = SECTORS[sector]!;
  const price = Math.round((listed === 0 ? 8 + 140 * random.uniform() : 15 + 25 * random.uniform()) * 100) / 100;
  // Draws the size from the reciprocal of a uniform number. Sizes are then as uneven as in real markets (Zipf's law).
  // New securities are not among the largest.
  const value = Math.min(VALUE_MIN / Math.max(random.uniform(), 1e-6), listed === 0 ? VALUE_MAX : VALUE_MAX / 20);
  return {
    identifier,
    name,
    stream,
    rank,
    sector,
    industry: industries[random.integer(industries.length)]!,
    listed,
    price,
    shares: Math.round(value / price / 1000) * 1000,
  };
}

const FIELDS = ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT'] as const;

function createContent(spec: SyntheticSpec, companies: readonly Company[]): MarketContent {
  const { sessions } = spec;
  const presentCompanies = companies.filter(
    ({ bars, count }) => count > 0 && bars.missing.subarray(0, count).includes(0),
  );
  const assets = presentCompanies.length;
  const fields = new Map(
    FIELDS.map((name) => [name as string, allocateEmptyPanel(sessions.length * assets, FIELDS.length)]),
  );
  const panels = FIELDS.map((name) => fields.get(name)!);
  presentCompanies.forEach(({ birth, bars, count }, n) => {
    const columns = [bars.open, bars.high, bars.low, bars.close, bars.volume, bars.shares, bars.freeFloat];
    for (let f = 0; f < columns.length; f++)
      fillColumn(panels[f]!, columns[f]!, { bars, count, from: birth.listed * assets + n, step: assets });
  });
  return {
    identifiers: presentCompanies.map(({ birth }) => birth.identifier),
    dates: sessions,
    fields,
    reference: createReference(spec, companies),
    actions: companies.flatMap(({ actions }) => actions).toSorted(compareActions),
    universes: companies.map(({ birth, ended }): Membership => ({
      universe: SYNTHETIC_UNIVERSE,
      identifier: birth.identifier,
      start: sessions[birth.listed]!,
      end: ended === null ? null : sessions[ended]!,
    })),
  };
}

function fillColumn(
  panel: Float64Array,
  column: Float64Array,
  {
    bars,
    count,
    from,
    step,
  }: { readonly bars: Company['bars']; readonly count: number; readonly from: number; readonly step: number },
): void {
  const { missing } = bars;
  for (let i = 0, cell = from; i < count; i++, cell += step) if (missing[i] === 0) panel[cell] = column[i]!;
}

const COLUMNS = [
  'NAME',
  'CURRENCY',
  'EXCHANGE',
  'COUNTRY',
  'SECTOR',
  'INDUSTRY',
  'ISSUER',
  'LISTED',
  'DELISTED',
  'FISCAL_PERIOD_END',
  'PUBLISHED',
  'SALES',
  'EARNINGS',
  'DIVIDENDS',
  'BOOK_VALUE',
  'EARNINGS_YIELD',
  'BOOK_TO_PRICE',
  'RETURN_ON_EQUITY',
];

/**
 * Returns rows of reference data. Each security has one row without accounts, because accounts are unknown at first. It
 * then has a row from every day on which it publishes accounts. A delisted security has a last row from its delisting,
 * with its latest accounts.
 */
function createReference(spec: SyntheticSpec, companies: readonly Company[]): ReferenceTable {
  const { sessions, exchange, currency } = spec;
  const country = findCountry(exchange);
  const formatDayText = createDayFormatter();
  return {
    columns: COLUMNS,
    rows: new Map(
      companies.map(({ birth, ended, reports }): [string, ReferenceRow[]] => {
        const listedText = formatDayText(sessions[birth.listed]!);
        const { sector } = SECTORS[birth.sector]!;
        const createRow = (
          validFrom: Day | null,
          delisted: string | null,
          report: Report | undefined,
        ): ReferenceRow => ({
          validFrom,
          values: [
            birth.name,
            currency,
            exchange,
            country,
            sector,
            birth.industry,
            birth.name,
            listedText,
            delisted,
            ...(report === undefined
              ? NO_VALUES
              : [formatDayText(report.periodEnd), formatDayText(report.published), ...listFigures(report)]),
          ],
        });
        const lastSession = ended === null ? null : sessions[ended]!;
        const publishedReports = reports.filter(({ published }) =>
          lastSession === null ? published <= sessions.at(-1)! : published < lastSession,
        );
        const rows = [
          createRow(null, null, undefined),
          ...publishedReports.map((report) => createRow(report.published, null, report)),
        ];
        return [
          birth.identifier,
          lastSession === null
            ? rows
            : [...rows, createRow(lastSession, formatDayText(lastSession), publishedReports.at(-1))],
        ];
      }),
    ),
  };
}

const NO_VALUES: readonly ReferenceValue[] = Array.from({ length: 9 }, () => null);

/**
 * Returns amounts in currency, then ratios to the market capitalisation at the end of the year. The last ratio is that
 * of earnings to book value, if the book value is positive.
 */
function listFigures({ sales, earnings, dividends, book, worth }: Report): readonly ReferenceValue[] {
  return [
    sales,
    earnings,
    dividends,
    book,
    computeRatio(earnings, worth),
    computeRatio(book, worth),
    book > 0 ? computeRatio(earnings, book) : null,
  ];
}

/** Returns a ratio rounded to a millionth, which exceeds the accuracy of accounts. */
const computeRatio = (amount: number, base: number) => Math.round((1e6 * amount) / base) / 1e6 + 0;

/** Returns a function that formats days and caches the texts. */
function createDayFormatter(): (day: Day) => string {
  const textByDay = new Map<Day, string>();
  return (day) => {
    const text = textByDay.get(day) ?? formatDay(day);
    textByDay.set(day, text);
    return text;
  };
}
