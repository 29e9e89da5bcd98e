import type { CorporateAction } from '#domain/market/market-data.js';

/** A dividend a share, paid every 63 sessions, on days that differ between names. */
const DIVIDEND = 0.2;

/** The dividends of every name over some dates, as days since 1970-01-01, by name and day. */
export function quarterlyDividends(identifiers: readonly string[], dates: ArrayLike<number>): CorporateAction[] {
  return identifiers.flatMap((identifier, i) => {
    const paid: CorporateAction[] = [];
    for (let t = 20 + (i % 60); t < dates.length; t += 63)
      paid.push({
        identifier,
        type: 'DIVIDEND',
        value: DIVIDEND,
        exDay: dates[t]!,
        payDay: null,
        status: 'paid',
        announcedDay: null,
        related: null,
        subscriptionPrice: null,
      });
    return paid;
  });
}
