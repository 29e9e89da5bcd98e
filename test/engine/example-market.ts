import { seeded } from '../seeded.js';
import { createFrame } from '../table-frame.js';

/** A small market in the formats that the engine and the service accept. */
export interface ExampleMarket {
  readonly arrays: {
    readonly dates: readonly string[];
    readonly identifiers: readonly string[];
    readonly fields: { readonly CLOSE: Float64Array; readonly VOLUME: Float64Array };
  };
  readonly table: Table;
  readonly actions: Table;
  readonly reference: Table;
}

interface Table {
  readonly index: readonly number[];
  readonly columns: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

/**
 * Generates a market over weekdays from 2021 on. Some securities are listed late, and some prices are missing. The
 * identifiers are not sorted.
 */
export function createExampleMarket({ names, days, seed }: Record<'names' | 'days' | 'seed', number>): ExampleMarket {
  const random = seeded(seed);
  const dates = listWeekdays(days);
  const identifiers = Array.from({ length: names }, (_, n) => `N${String((n * 7) % names).padStart(2, '0')}`);
  const close = new Float64Array(days * names).fill(Number.NaN);
  const volume = new Float64Array(days * names).fill(Number.NaN);
  for (let n = 0; n < names; n++) {
    let price = 20 + 80 * random();
    for (let t = n % 5 === 0 ? 30 : 0; t < days; t++) {
      price *= 1 + 0.03 * (random() - 0.49);
      if (random() < 0.004) continue;
      close[t * names + n] = price;
      volume[t * names + n] = Math.floor(1e5 * random());
    }
  }
  const cells = dates.flatMap((date, t) =>
    identifiers.flatMap((identifier, n) => {
      const price = close[t * names + n]!;
      return Number.isNaN(price) ? [] : [[date, identifier, price, volume[t * names + n]!]];
    }),
  );
  const dividends = identifiers.slice(0, 9).map((name, n) => [name, 'DIVIDEND', 0.4 + n / 10, dates[60 + 9 * n]!]);
  const split = [identifiers[11]!, 'SPLIT', 2, dates[200]!];
  return {
    arrays: { dates, identifiers, fields: { CLOSE: close, VOLUME: volume } },
    table: createFrame(['date', 'identifier', 'CLOSE', 'VOLUME'], cells),
    actions: createFrame(['identifier', 'type', 'value', 'ex_date'], [...dividends, split]),
    reference: createFrame(
      ['identifier', 'NAME', 'SECTOR'],
      identifiers.map((name, n) => [name, `Company ${name}`, ['Tech', 'Energy', 'Health'][n % 3]]),
    ),
  };
}

function listWeekdays(count: number): string[] {
  const days: string[] = [];
  for (let time = Date.UTC(2021, 0, 4); days.length < count; time += 86_400_000)
    if (new Date(time).getUTCDay() % 6 !== 0) days.push(new Date(time).toISOString().slice(0, 10));
  return days;
}
