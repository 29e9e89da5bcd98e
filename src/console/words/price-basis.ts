/** What closes of a store are, by its adjustment. */
export const PRICE_BASIS: Readonly<Record<string, string>> = {
  none: 'as traded',
  splits: 'adjusted for splits',
  total: 'adjusted for splits and dividends',
};
