import type { MarketData } from '#domain/market/market-data.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { parseValidDay } from '#domain/time/days.js';
import { allocateGrowablePanel } from '../panels/panels.js';

/** Security and date of a close. */
export interface PriceLocation {
  readonly identifier: string;
  readonly date: string;
}

type Closes = Pick<MarketData, 'identifiers' | 'dates' | 'fields'>;

/**
 * Returns a content with some closes replaced. Returns the same object if it has none of these securities and sessions.
 */
export function overridePrices<C extends Closes>(
  content: C,
  overrides: readonly (PriceLocation & { readonly price: number })[] = [],
): C {
  const cells = overrides.flatMap(({ price, ...place }) => {
    const cell = findCell(content, place);
    return cell === undefined ? [] : [{ cell, price }];
  });
  if (cells.length === 0) return content;
  const { identifiers, dates, fields } = content;
  const close = fields.get('CLOSE')!;
  const panel = new Float64Array(allocateGrowablePanel(dates.length, identifiers.length, fields.size), 0, close.length);
  panel.set(close);
  for (const { cell, price } of cells) panel[cell] = price;
  return { ...content, fields: new Map([...fields].map(([name, old]) => [name, name === 'CLOSE' ? panel : old])) };
}

/** Returns a content with selected closes of another content. */
export function copyCloses<C extends Closes>(content: C, otherCloses: Closes, places: readonly PriceLocation[]): C {
  const close = otherCloses.fields.get('CLOSE')!;
  return overridePrices(
    content,
    places.flatMap((place) => {
      const cell = findCell(otherCloses, place);
      return cell === undefined ? [] : [{ ...place, price: close[cell]! }];
    }),
  );
}

/** Returns the cell of a close in the panels. Returns undefined if the security or the session is missing. */
export function findCell({ identifiers, dates }: Closes, { identifier, date }: PriceLocation): number | undefined {
  const day = parseValidDay(date);
  const row = findLastAtMost(dates, day);
  const column = identifiers.indexOf(identifier);
  return column < 0 || row < 0 || dates[row] !== day ? undefined : row * identifiers.length + column;
}
