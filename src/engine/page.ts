import { GenerateSyntheticRequest } from '#domain/definition/datasets.js';
import { listSessionsBetween } from '#domain/calendars/calendar.js';
import { formatDay, type Day } from '#domain/base/time.js';
import type { MarketContent } from '#market/content/market-content.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { generateMarket } from '#market/synthetic/generate-market.js';
import type * as Api from './api.js';
import { openEngine, verifyBundle } from './main.js';

type IndexDocumentBody = Parameters<Api.Engine['define']>[0];

/** Contents of the page that needs no service: a market from a seed, and definitions to begin with. */
export interface PageExamples {
  /** Members of `POST /data/synthetic`. */
  readonly market: object;
  readonly indices: readonly IndexDocumentBody[];
}

/** Security in the lists of the page. */
interface ListedSecurity {
  readonly identifier: string;
  readonly name: string;
  readonly sector: string;
}

/** Result of a definition as the page shows it. */
export interface PageRun extends Omit<Api.IndexLevels, 'levels' | 'divisor'> {
  readonly levels: readonly number[];
  readonly divisor: readonly number[];
  readonly index_id: string;
  readonly findings: Api.Engine['findings'];
  readonly metrics: Api.Backtest['metrics'];
  readonly rebalances: readonly string[];
  /** SHA-256 of the whole result. */
  readonly hash: string;
}

/** Engine on the market of the page. Every call computes on the thread of its caller. */
export interface PageEngine {
  readonly market: {
    readonly version: string;
    readonly content_hash: string;
    readonly start: string;
    readonly end: string;
    readonly securities: readonly ListedSecurity[];
  };
  validate(document: IndexDocumentBody): Api.Engine['findings'];
  /** Stores a definition in memory and backtests it. @throws EngineError */
  run(document: IndexDocumentBody): PageRun;
  /** Returns the composition decided on a day. @throws EngineError */
  preview(indexId: string, asOf: string): ReturnType<Api.Engine['preview']>;
  /** Returns the reasons for a weight. @throws EngineError */
  explain(indexId: string, identifier: string, asOf: string): ReturnType<Api.Engine['explain']>;
  verify(bundle: Uint8Array): Promise<Api.BundleVerdict>;
}

/** Generates the market of the page, which has the content of the same request to a service, and opens the engine. */
export async function openPage({ market: request, indices }: PageExamples): Promise<PageEngine> {
  const content = createMarket(request);
  const engine = await openEngine({ market: toMarketInput(content) });
  for (const document of indices) engine.define(document);
  return {
    market: {
      version: engine.version,
      content_hash: engine.content_hash,
      start: formatDay(content.dates[0]!),
      end: formatDay(content.dates.at(-1)!),
      securities: listSecurities(content),
    },
    validate: (document) => engine.validate(document),
    run(document) {
      const { index, findings } = engine.define(document);
      const run = engine.backtest(index.id);
      const { levels, divisor, ...series } = run.levels();
      return {
        ...series,
        levels: [...levels],
        divisor: [...divisor],
        index_id: index.id,
        findings: [...findings, ...run.findings],
        metrics: run.metrics,
        rebalances: run.rebalances,
        hash: run.hash,
      };
    },
    preview: (indexId, asOf) => engine.preview(indexId, asOf),
    explain: (indexId, identifier, asOf) => engine.explain(indexId, identifier, asOf),
    verify: (bundle) => verifyBundle(bundle),
  };
}

function createMarket(request: object): MarketContent {
  const { start, end, ...terms } = GenerateSyntheticRequest.parse(request);
  const calendar = openCalendars().get(terms.calendar)!; // the page offers only calendars of the engine
  const sessions = listSessionsBetween(calendar.sessions, start, end ?? start);
  return generateMarket({ ...terms, exchange: calendar.code, sessions }, () => {});
}

function listSecurities({ identifiers, reference: { columns, rows } }: MarketContent): ListedSecurity[] {
  const [name, sector] = [columns.indexOf('NAME'), columns.indexOf('SECTOR')];
  return identifiers.map((identifier) => {
    const values = rows.get(identifier)?.at(-1)?.values ?? [];
    return { identifier, name: String(values[name] ?? ''), sector: String(values[sector] ?? '') };
  });
}

const toDate = (day: Day | null): string | null => (day === null ? null : formatDay(day));

/** Converts a generated content to the tables of an import. The generator writes no rarer columns. */
function toMarketInput({ dates, identifiers, fields, reference, actions, universes }: MarketContent): Api.MarketInput {
  return {
    prices: { dates, identifiers, fields: Object.fromEntries(fields) },
    reference: {
      columns: ['identifier', 'valid_from', ...reference.columns],
      data: [...reference.rows].flatMap(([identifier, rows]) =>
        rows.map(({ validFrom, values }) => [identifier, toDate(validFrom), ...values]),
      ),
    },
    corporate_actions: {
      columns: ['identifier', 'type', 'value', 'ex_date', 'pay_date', 'status', 'announced', 'related'],
      data: actions.map((action) => [
        action.identifier,
        action.type,
        action.value,
        formatDay(action.exDay),
        toDate(action.payDay),
        action.status,
        toDate(action.announcedDay),
        action.related,
      ]),
    },
    universes: {
      columns: ['universe', 'identifier', 'start', 'end'],
      data: universes.map(({ universe, identifier, start, end }) => [universe, identifier, toDate(start), toDate(end)]),
    },
  };
}
