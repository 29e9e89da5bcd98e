import type { Book } from '#domain/backtest/simulate/book.js';
import { marketOn } from '#domain/backtest/simulate/market-on.js';
import type { RunHeader } from '#domain/backtest/run-file/header.js';
import { TreatmentSpec } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import { latest } from '#domain/rules/datapoints/field-request.js';
import { crossSectionsOf } from '#domain/rules/decide.js';
import { lastAtMost } from '#domain/search.js';
import type { ExposuresViewInput } from '#jobs/tasks/views.js';
import { exposuresOf, type Exposures } from '#views/exposures/exposures-view.js';
import type { FieldReader, SideName } from '#views/exposures/field-series.js';
import { comparedWith } from './compared.js';
import { groupSpells, ownGroup } from '#domain/market/market-groups.js';
import { figuresOf } from './kept-figures.js';
import { onEngine } from './numerics.js';
import { openedCalendars } from './opened-calendars.js';
import { openedMarket } from './open-markets.js';
import { withRunFile } from './run-file.js';

/** Groups of which every name is one by itself. */
const OWN_GROUPS = 'IDENTIFIER';

/** Exposures of a stored run. @throws Refusal as `exposuresOf`, and what running the benchmark refuses */
export function showExposures({ columns, market: handle, ...input }: ExposuresViewInput): Promise<Exposures> {
  const served = handle && openedMarket(handle);
  return onEngine((engine) =>
    withRunFile(columns, (run) => {
      const other = input.benchmark && comparedWith(input.benchmark, served!, run.header);
      const book = other && other.bookTo(engine, run.i32('days').at(-1)!);
      const market = other?.market ?? served;
      return exposuresOf(run, {
        window: { start: input.start, end: input.end },
        by: input.by,
        groups: input.groups,
        interval: input.interval,
        groupOf: market === null || input.by === OWN_GROUPS ? ownGroup : groupSpells(market, input.by),
        benchmark: other && { id: other.id, key: JSON.stringify(input.benchmark), book: book! },
        fields: fieldReader(input.fields, { market, header: run.header, book }),
        keep: figuresOf(columns, handle),
      });
    }),
  );
}

interface Read {
  /** Null where no datapoint is read. */
  readonly market: MarketData | null;
  readonly header: RunHeader;
  /** Of the benchmark. */
  readonly book: Book | null;
}

/** Datapoints on the terms of a run: in its currency, with its staleness. */
function fieldReader(fields: readonly string[], { market, header, book }: Read): FieldReader {
  if (fields.length === 0 || market === null) return { fields: [], on: notRead };
  const sm = marketOn({ market, calendars: openedCalendars(), code: header.calendar });
  const treatment = TreatmentSpec.parse({ ...header.treatment });
  const sides: Readonly<Record<SideName, PlacedNames>> = {
    own: placedNames(sm, header.names),
    benchmark: placedNames(sm, book === null ? [] : Array.from(book.columns, (column) => book.sm.identifiers[column]!)),
  };
  const followed = Int32Array.from(new Set([...sides.own.columns, ...sides.benchmark.columns])).sort();
  const sections = crossSectionsOf({ market: sm, treatment, currency: header.currency, followed });
  return {
    fields,
    on(day, held) {
      const own = sides.own.columnsHeld(held);
      const section = sections.at(lastAtMost(sm.sessions, day), own);
      let other: Int32Array | undefined;
      return {
        values(field, side, weights) {
          const held = side === 'own' ? own : (other ??= sides.benchmark.columnsHeld(weights));
          return sides[side].scattered(section.numbers(latest(fields[field]!), held));
        },
      };
    },
  };
}

function notRead(): never {
  throw new Error('a datapoint is read that was not asked for');
}

interface PlacedNames {
  /** All that the market has, ascending. */
  readonly columns: Int32Array;
  /** Columns of the names with a weight, ascending. */
  columnsHeld(weights: Float64Array): Int32Array;
  /** Values of the columns that were told last, at the places of their names, NaN at the others. */
  scattered(values: Float64Array): Float64Array;
}

/** Names in a market; those that it does not have have no value. */
function placedNames(sm: SessionMarket, names: readonly string[]): PlacedNames {
  const placed = names
    .map((name, place) => ({ place, column: sm.columnOf(name) }))
    .filter(({ column }) => column >= 0)
    .toSorted((a, b) => a.column - b.column);
  const columns = Int32Array.from(placed, ({ column }) => column);
  const placeOf = Int32Array.from(placed, ({ place }) => place);
  /** Whether each of the names had a weight the last time. */
  const wasHeld = new Uint8Array(names.length);
  const out = new Float64Array(names.length).fill(NaN);
  let held: Int32Array = new Int32Array(0);
  let places: Int32Array = new Int32Array(0);
  return {
    columns,
    columnsHeld(weights) {
      if (areHeld(wasHeld, weights)) return held;
      for (let i = 0; i < wasHeld.length; i++) wasHeld[i] = weights[i] === 0 ? 0 : 1;
      held = columns.filter((_, position) => wasHeld[placeOf[position]!] === 1);
      places = placeOf.filter((place) => wasHeld[place] === 1);
      out.fill(NaN);
      return held;
    },
    scattered(values) {
      for (let i = 0; i < places.length; i++) out[places[i]!] = values[i]!;
      return out;
    },
  };
}

/** Whether the names with a weight are those that were held: they change at rebalances, and are asked for on every date. */
function areHeld(wasHeld: Uint8Array, weights: Float64Array): boolean {
  for (let i = 0; i < wasHeld.length; i++) if ((weights[i] === 0 ? 0 : 1) !== wasHeld[i]) return false;
  return true;
}
