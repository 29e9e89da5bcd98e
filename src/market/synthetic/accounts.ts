import { toCivilDate, toDay, type Day } from '#domain/time/days.js';
import type { CounterRandom } from '#kernels/random/counter-random.js';
import type { Sector } from './names.js';

/**
 * Published report of a fiscal year, in currency, rounded to thousands. Contains the flows of the year and the book
 * value at its end.
 */
export interface Report {
  readonly periodEnd: Day;
  /** Day from which the report is known. */
  readonly published: Day;
  readonly sales: number;
  readonly earnings: number;
  /** Cash dividends with an ex-date in the year, including special dividends. */
  readonly dividends: number;
  readonly book: number;
  /** Market capitalisation at the end of the year, or at a later listing. */
  readonly worth: number;
}

/** Accounts of one company during its existence. All amounts are in the market's currency. */
export interface Accounts {
  /** Day after which the current fiscal year must be closed. */
  readonly periodEnd: Day;
  pay(cash: number): void;
  /** Adds cash from new shares; a negative amount is a buy-back. */
  issue(cash: number): void;
  /** Transfers a fraction of the company to a spun-off company. */
  divide(fraction: number): void;
  /** Closes the current fiscal year. @param worth market capitalisation at its last close */
  close(worth: number): void;
  readonly reports: readonly Report[];
}

export interface Opening {
  /** Day of the first session. */
  readonly listed: Day;
  /** True for a new listing. Its latest accounts are published with the listing. */
  readonly isNew: boolean;
  readonly sector: Sector;
  /** Market capitalisation, and annual dividends. */
  readonly worth: number;
  readonly dividends: number;
}

/** Weight of the year-end price in the value that earnings follow. It is below 1, because earnings lag prices. */
const SMOOTHING = 0.5;
/**
 * Standard deviation of annual earnings and of sales, as fractions of their normal values. For earnings, there is one
 * value for the most stable and one for the least stable company.
 */
const EARNINGS_NOISE_MIN = 0.1;
const EARNINGS_NOISE_MAX = 0.6;
const SALES_NOISE = 0.05;
/** Fraction of the book value that is written off in a year in which a company becomes worthless. */
const COLLAPSE_CHARGE = 0.8;
/**
 * Fraction of the excess book value that is written off. The excess is the book value above a multiple of the market
 * value.
 */
const EXCESS_CHARGE = 0.3;
const EXCESS_BOOK = 3;
/**
 * Days from the end of a fiscal year to its report. There is a minimum, a range between companies, and a range between
 * years.
 */
const LAG_DAYS = 40;
const LAG_SPREAD = 45;
const LAG_JITTER = 8;
const LAG_MAX = LAG_DAYS + LAG_SPREAD + LAG_JITTER;
/** Last months of fiscal years, repeated by their frequency among companies. */
const FISCAL_MONTHS = [12, 12, 12, 12, 12, 12, 12, 3, 6, 9] as const;
const YEAR_DAYS = 365;

/**
 * Opens accounts that are consistent with the market. Earnings follow the value of the shares at the end of the year
 * and before. Dividends equal the paid ones. The book value grows by earnings and new shares less dividends. A report
 * depends only on data up to the end of its year.
 * @source Ohlson (1995), Contemporary Accounting Research 11, 661-687: clean surplus.
 */
export function openAccounts({ listed, isNew, sector, worth, dividends }: Opening, random: CounterRandom): Accounts {
  const drawAround = (middle: number) => middle * (0.65 + 0.7 * random.uniform());
  const multiple = drawAround(sector.priceToEarnings);
  const margin = drawAround(sector.margin);
  const earningsNoise = EARNINGS_NOISE_MIN + (EARNINGS_NOISE_MAX - EARNINGS_NOISE_MIN) * random.uniform();
  const fiscalMonth = FISCAL_MONTHS[random.integer(FISCAL_MONTHS.length)]!;
  const lag = LAG_DAYS + random.integer(LAG_SPREAD);
  const reports: Report[] = [];
  let book = worth / drawAround(sector.priceToBook);
  let trackedWorth = worth;
  let issuedShares = 0;
  let periodEnd = findYearEndBefore(listed - LAG_MAX, fiscalMonth);

  const computeNormalEarnings = () => trackedWorth / multiple;
  const drawEarnings = () => computeNormalEarnings() * (1 + earningsNoise * random.normal());
  const drawSales = () => (computeNormalEarnings() / margin) * Math.max(1 + SALES_NOISE * random.normal(), 0.5);

  function publish(
    published: Day,
    { sales, earnings, dividends, worth }: Pick<Report, 'sales' | 'earnings' | 'dividends' | 'worth'>,
  ): void {
    reports.push({
      periodEnd,
      published,
      sales: roundToThousands(sales),
      earnings: roundToThousands(earnings),
      dividends: roundToThousands(dividends),
      book: roundToThousands(book),
      worth,
    });
    periodEnd = findYearEndAfter(periodEnd);
  }

  publish(isNew ? listed : periodEnd + lag, {
    sales: drawSales(),
    earnings: drawEarnings(),
    dividends: isNew ? 0 : dividends,
    worth,
  });
  // Assumes that the part of the current year before the first session has the same dividends as earlier years.
  const yearStart = periodEnd - YEAR_DAYS;
  let paidDividends = isNew ? 0 : dividends * Math.min((listed - yearStart) / YEAR_DAYS, 1);

  return {
    get periodEnd() {
      return periodEnd;
    },
    pay(cash) {
      paidDividends += cash;
    },
    issue(cash) {
      issuedShares += cash;
    },
    divide(fraction) {
      trackedWorth *= 1 - fraction;
      book *= 1 - fraction;
    },
    close(worthNow) {
      const collapse = Math.max(0, 1 - (2 * worthNow) / trackedWorth);
      trackedWorth += SMOOTHING * (worthNow - trackedWorth);
      const charges =
        Math.max(book, 0) * COLLAPSE_CHARGE * collapse + EXCESS_CHARGE * Math.max(0, book - EXCESS_BOOK * worthNow);
      const earnings = drawEarnings() - charges;
      book += earnings - paidDividends + issuedShares;
      publish(Math.max(periodEnd + lag + random.integer(LAG_JITTER), reports.at(-1)!.published + 1), {
        sales: drawSales(),
        earnings,
        dividends: paidDividends,
        worth: worthNow,
      });
      paidDividends = 0;
      issuedShares = 0;
    },
    reports,
  };
}

const roundToThousands = (amount: number) => Math.round(amount / 1000) * 1000 + 0;

/** Returns the last month end on or before a day, for the given month. */
function findYearEndBefore(day: Day, month: number): Day {
  const { year } = toCivilDate(day);
  const end = computeMonthEnd(year, month);
  return end <= day ? end : computeMonthEnd(year - 1, month);
}

function findYearEndAfter(day: Day): Day {
  const { year, month } = toCivilDate(day);
  return computeMonthEnd(year + 1, month);
}

const computeMonthEnd = (year: number, month: number): Day =>
  toDay({ year: month === 12 ? year + 1 : year, month: (month % 12) + 1, day: 1 }) - 1;
