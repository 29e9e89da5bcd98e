import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import { type Day, parseValidDay, toWeekday } from '#domain/base/time.js';
import { compareText } from '#domain/base/findings.js';
import type {
  ActionType,
  Adjustment,
  CorporateAction,
  ElectionDefault,
  MarketData,
  Membership,
  ReferenceValue,
} from '#domain/market/market-data.js';

/** Market of a test. Each security has values by date; null means that the price is missing. */
export interface MarketSketch {
  readonly dates: readonly string[];
  /** CLOSE by security, with one value per date. */
  readonly close: Readonly<Record<string, readonly (number | null)[]>>;
  readonly fields?: Readonly<Record<string, Readonly<Record<string, readonly (number | null)[]>>>>;
  /** Reference columns by name. */
  readonly reference?: Readonly<Record<string, Readonly<Record<string, ReferenceValue>>>>;
  readonly actions?: readonly ActionSketch[];
  readonly universes?: readonly Membership[];
  readonly adjustment?: Adjustment;
}

export interface ActionSketch {
  readonly name: string;
  readonly type: ActionType;
  readonly value: number;
  readonly ex: string;
  readonly related?: string;
  readonly subscription?: number;
  readonly cancelled?: boolean;
  /** Last day on which holders can elect, and the entitlement of holders who do not elect. */
  readonly election?: string;
  readonly byDefault?: ElectionDefault;
  readonly scrip?: number;
  /** True if the payment of an ending is not stated. */
  readonly isUnpriced?: true;
  /** Cash paid by a merger in addition to shares. */
  readonly cash?: number;
}

export const NO_TABLES: Pick<MarketData, 'reference' | 'actions' | 'universes'> = {
  reference: { columns: [], rows: new Map() },
  actions: [],
  universes: [],
};

let builtCount = 0;

export function buildMarket({
  dates,
  close,
  fields = {},
  reference = {},
  actions = [],
  universes = [],
  adjustment = 'none',
}: MarketSketch): MarketData {
  const identifiers = Object.keys(close).toSorted(compareText);
  const createPanel = (values: Readonly<Record<string, readonly (number | null)[]>>): Float64Array =>
    Float64Array.from(dates.flatMap((_, t) => identifiers.map((name) => values[name]?.[t] ?? Number.NaN)));
  const columns = [...new Set(Object.values(reference).flatMap((row) => Object.keys(row)))];
  return {
    datasetId: 'test',
    contentHash: `test-${builtCount++}`,
    adjustment,
    identifiers,
    dates: Int32Array.from(dates, parseValidDay),
    fields: new Map([
      ['CLOSE', createPanel(close)],
      ...Object.entries(fields).map(([name, values]) => [name, createPanel(values)] as const),
    ]),
    reference: {
      columns,
      rows: new Map(
        Object.entries(reference).map(([name, row]) => [
          name,
          [{ validFrom: null, values: columns.map((column) => row[column] ?? null) }],
        ]),
      ),
    },
    actions: actions
      .map(toAction)
      .toSorted((a, b) => compareText(a.identifier, b.identifier) || a.exDay - b.exDay || compareText(a.type, b.type)),
    universes,
  };
}

function toAction(sketch: ActionSketch): CorporateAction {
  const {
    name,
    type,
    value,
    ex,
    related,
    subscription,
    cancelled = false,
    election,
    byDefault,
    scrip,
    cash,
    isUnpriced,
  } = sketch;
  return {
    identifier: name,
    type,
    value,
    exDay: parseValidDay(ex),
    payDay: null,
    status: cancelled ? 'cancelled' : 'paid',
    announcedDay: null,
    related: related ?? null,
    subscriptionPrice: subscription ?? null,
    ...(cash === undefined ? {} : { cash }),
    ...(isUnpriced ? { isUnpriced } : {}),
    ...(scrip === undefined ? {} : { scripRatio: scrip }),
    ...(election === undefined ? {} : { electionDay: parseValidDay(election) }),
    ...(byDefault === undefined ? {} : { electionDefault: byDefault }),
  };
}

export interface CalendarSketch {
  readonly from: string;
  readonly to: string;
  readonly holidays?: readonly string[];
}

/** Returns calendars without holidays, whose sessions are the weekdays of a range. */
export function createWeekdayCalendars(sketches: Readonly<Record<string, CalendarSketch>>): Calendars {
  const calendars = new Map(
    Object.entries(sketches).map(([code, sketch]) => [code, createWeekdayCalendar(code, sketch)]),
  );
  return { list: () => [...calendars.values()], get: (code) => calendars.get(code) };
}

function createWeekdayCalendar(code: string, { from, to, holidays = [] }: CalendarSketch): Calendar {
  const closedDays = new Set(holidays.map(parseValidDay));
  const days: Day[] = [];
  for (let day = parseValidDay(from); day <= parseValidDay(to); day++)
    if (toWeekday(day) < 5 && !closedDays.has(day)) days.push(day);
  const openDays = new Set(days);
  const coverage = { from: parseValidDay(from), publishedTo: parseValidDay(to), to: parseValidDay(to) };
  return {
    code,
    name: code,
    region: 'Test',
    tz: 'Test/Test',
    coverage,
    sessions: Int32Array.from(days),
    isSession: (day) => openDays.has(day),
  };
}
