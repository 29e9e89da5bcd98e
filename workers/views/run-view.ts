import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { assertNoErrors, Refusal } from '#domain/base/refusals.js';
import { parseValidDay } from '#domain/base/time.js';
import { createComposer } from '#domain/books/composer.js';
import { isOutside } from '#domain/books/universe.js';
import { openMarketOn } from '#domain/books/window.js';
import { listClosures } from '#domain/calendars/calendar.js';
import { createExchangeRates } from '#domain/market/rates.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import type { InputOfView, RunViewName } from '#jobs/tasks/views.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import {
  type ActionsInput,
  createActionsView,
  createProFormaRows,
  formatProFormaCsv,
  readHoldingsAtEnd,
} from '#views/actions.js';
import { createDividendPointsView } from '#views/dividend-points.js';
import type { JsonWriter } from '#views/json/writer.js';
import { computeRunFractions } from '#views/report/figures.js';
import { openCachedCalendars, openCachedMarket } from '../input/markets.js';
import { openModels } from '../input/risk-models.js';
import { useRunFile } from '../run-files.js';

type ActionsQuery = InputOfView<'actions'>;

/** Lists the corporate actions on the securities of a stored run. */
export const showActions = (query: ActionsQuery): ReturnType<typeof createActionsView> =>
  useRunFile(query.columns, (run) => createActionsView(run, createInput(run, query)));

/** Formats the index after each coming action, as CSV. */
export function showProForma(query: ActionsQuery): string {
  return useRunFile(query.columns, (run) => {
    const input = createInput(run, query);
    const { actions } = createActionsView(run, input);
    return formatProFormaCsv(createProFormaRows(actions, readHoldingsAtEnd(run, input)));
  });
}

function createInput(run: RunColumns, query: ActionsQuery): ActionsInput {
  return { ...createTerms(run, query), ...createDates(query), outside: findOutside(run, query) };
}

/** Returns past and future mergers that remove a security from the index of a run. */
function findOutside(run: RunColumns, { removing, market: handle }: ActionsQuery): ActionsInput['outside'] {
  if (removing === null) return undefined;
  const { indexId, documents, models } = removing;
  const last = run.i32('days').at(-1)!;
  const composer = createComposer({
    market: openCachedMarket(handle),
    calendars: openCachedCalendars(listClosures(documents)),
    documents,
    models: openModels(models),
    until: last,
    createDecider: createIndexDeciders(referenceEngine),
  });
  const mergers = composer.outsideMergers(indexId);
  if (mergers === undefined) return undefined;
  const session = findLastAtMost(composer.market(indexId).sessions, last);
  return {
    mergers,
    isComing: ({ type, related, exDay: day }) =>
      type === 'MERGER' && related !== null && isOutside(composer, indexId, { session, day, related }),
  };
}

function createTerms(run: RunColumns, { market: handle }: ActionsQuery) {
  const { calendar, closures, currency } = run.header;
  const sm = openMarketOn({
    market: openCachedMarket(handle),
    calendars: openCachedCalendars(closures),
    code: calendar,
  });
  return { sm, rates: createExchangeRates(sm, currency) };
}

const createDates = ({ from, to }: ActionsQuery) => ({ from: parseOptionalDay(from), to: parseOptionalDay(to) });
const parseOptionalDay = (date: string | undefined) => (date === undefined ? null : parseValidDay(date));

/** Computed view, ready to be written. */
export interface ComputedView {
  /** Expected number of bytes, if it can be estimated. */
  readonly bytes?: number;
  write(json: JsonWriter): void;
}

/** Computation of a view from the columns of a run, and its output. */
export interface RunView<N extends RunViewName> {
  show(input: InputOfView<N>, control: TaskControl): ComputedView | Promise<ComputedView>;
  /** Writes a table of the view in the requested format, if its route offers formats other than JSON. */
  file?(input: InputOfView<N>, control: TaskControl): Uint8Array | Promise<Uint8Array>;
}

/** Returns a view that is written as one JSON object. */
export const createObjectView = (view: object): ComputedView => ({ write: (json) => json.value(view) });

/** Returns the requested window. An open side is null. */
export const createWindow = ({ start, end }: Window) => ({ start: start ?? null, end: end ?? null });

interface Window {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

/** Computes the dividend points of a stored run. @throws Refusal NO_DATA_IN_RANGE, VARIANT_NOT_AVAILABLE */
export function showDividendPoints({ columns, market: handle, ...query }: InputOfView<'dividend-points'>): object {
  const market = openCachedMarket(handle);
  if (market.adjustment === 'total')
    throw new Refusal(
      'VARIANT_NOT_AVAILABLE',
      'The prices of the store include dividends, so paid dividends cannot be derived from them.',
    );
  return useRunFile(columns, (run) => {
    const sm = openMarketOn({ market, calendars: openCachedCalendars(run.header.closures), code: run.header.calendar });
    return createDividendPointsView(run, { window: createWindow(query), ...computeRunFractions(run, sm) });
  });
}

/**
 * Returns the series that a performance view measures. Default: the index if a variant is requested, otherwise the
 * portfolio.
 * @throws Refusal VALIDATION_FAILED for a variant of the portfolio
 */
export function selectMeasuredSeries({ of, variant }: Pick<InputOfView<'performance'>, 'of' | 'variant'>) {
  if (of === 'portfolio' && variant !== undefined) {
    const message = `The portfolio has only the return of its run; variant ${variant} belongs to the index.`;
    const finding = { severity: 'error', code: 'NOT_IN_CHOICES', message, path: 'of', accepted: ['index'] } as const;
    assertNoErrors('query', [finding]);
  }
  return { of: of ?? (variant === undefined ? 'portfolio' : 'index'), variant: variant ?? null } as const;
}
