/** Labels of the price adjustments. */
export const PRICE_BASIS: Readonly<Record<string, string>> = {
  none: 'as traded',
  splits: 'adjusted for splits',
  total: 'adjusted for splits and dividends',
};
