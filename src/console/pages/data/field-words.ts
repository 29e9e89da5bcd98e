/** Meanings of fields that the service computes, and of columns with standard names. */
const MEANINGS: Readonly<Record<string, string>> = {
  AGE: 'Sessions since the first bar',
  BETA: 'Beta against the equally weighted universe, 252 sessions',
  BOOK_TO_PRICE: "Shareholders' equity over market capitalisation",
  BOOK_VALUE: "Shareholders' equity of the company",
  DIVIDENDS: 'Cash per share, on the ex-date',
  DIVIDEND_YIELD: 'Ordinary dividends of the last twelve months over the close',
  FREE_FLOAT: 'Share of the shares outstanding that trades freely',
  FREE_FLOAT_MARKET_CAP: 'Close times freely traded shares',
  MARKET_CAP: 'Close times shares outstanding',
  MOMENTUM: 'Compounded return, 252 sessions',
  PRICE_RETURN: 'Return of a session without ordinary dividends',
  RETURN: 'Return of a session with dividends',
  VALUE_TRADED: 'Close times volume',
  VOLATILITY: 'Annual standard deviation of returns, 252 sessions',
  CLOSE: 'Closing price, as in the store',
  OPEN: 'Opening price',
  HIGH: 'Highest price of the session',
  LOW: 'Lowest price of the session',
  VOLUME: 'Shares traded',
  SHARES_OUTSTANDING: 'Shares issued and held by investors',
  CURRENCY: 'Currency of the prices',
  COUNTRY: 'Country of the company',
  EXCHANGE: 'Exchange of the listing, as a MIC',
  ISSUER: 'Company that issued the share',
  LISTED: 'First day of the listing',
  DELISTED: 'Last day of the listing',
  NAME: 'Name of the company',
};

/** Returns the meaning of a field. Returns an empty text for a column without a standard name. */
export const getMeaning = (name: string): string => MEANINGS[name] ?? '';
