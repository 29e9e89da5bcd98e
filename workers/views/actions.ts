import { listClosures } from '#domain/calendars/closures.js';
import { createIndexDeciders } from '#domain/backtest/index-decider.js';
import { createComposer } from '#domain/books/create-composer.js';
import { isOutside } from '#domain/books/outside-mergers.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openModels } from '../input/opened-models.js';
import { openMarketOn } from '#domain/books/open-market-on.js';
import { parseValidDay } from '#domain/time/days.js';
import { createExchangeRates } from '#domain/market/exchange-rates.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { InputOfView } from '#jobs/tasks/views.js';
import type { ActionsInput } from '#views/actions/actions-input.js';
import { createActionsView } from '#views/actions/actions-view.js';
import { readHoldingsAtEnd } from '#views/actions/holdings-on-date.js';
import { formatProFormaCsv, createProFormaRows } from '#views/actions/pro-forma-rows.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openCachedMarket } from '../input/open-markets.js';
import { useRunFile } from '../run-files/run-file.js';

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
