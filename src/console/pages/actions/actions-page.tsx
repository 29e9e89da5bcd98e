import { GuideLink } from '../../components/guide-link.js';
import { Page } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { health } from '../../state/live.js';
import { NamesStore } from '../../state/names.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { findStore, getChosenStore } from '../../state/stores.js';
import { formatToday, subtractDays } from '../../words/dates.js';
import { formatCount } from '../../words/numbers.js';
import { ActionPanel } from './action-panel.js';
import { FilteredActions } from './filtered-actions.js';
import { LISTED_MAX, YEAR_DAYS } from './listed-actions.js';

/** Page of the corporate actions around the last session or from a selected date, and of the decisions on them. */
export function ActionsPage() {
  const openAction = getParameter('action');
  const requestedStart = getParameter('from');
  const store = getChosenStore();
  const servedEnd = health.value?.store?.end ?? null;
  const actionList = useResource(
    `actions ${store} ${requestedStart} ${store === undefined ? servedEnd : ''}`,
    (signal) => load({ store, from: requestedStart, servedEnd }, signal),
    { keeps: true },
  );
  return (
    <Page title="Corporate actions" subtitle={<GuideLink page="desk">How the desk confirms actions</GuideLink>}>
      <NamesStore.Provider value={store ?? null}>
        <Answered resource={actionList} what="the corporate actions">
          {({ actions, total, span, last }) => (
            <>
              {(span === 'next' || span === 'year') && actions.length > 0 && (
                <p class="quiet">
                  {span === 'next'
                    ? `No action from ${RECENT_DAYS} days before to ${COMING_DAYS} days after ${last}: the next ones are shown.`
                    : `The store has no action after ${last}: those of the last year are shown, the latest first.`}
                </p>
              )}
              <FilteredActions
                key={span}
                actions={actions}
                open={openAction}
                last={last}
                today={formatToday()}
                from={requestedStart ?? findFirstDate(span, last)}
                isComing={span === 'usual' || span === 'next'}
              />
              {total > actions.length && (
                <p class="quiet">
                  The first {formatCount(actions.length)} of {formatCount(total)}.
                </p>
              )}
            </>
          )}
        </Answered>
        {openAction !== null && (
          <ActionPanel key={openAction} id={openAction} onClose={() => setParameters({ action: null })} />
        )}
      </NamesStore.Provider>
    </Page>
  );
}

/** Default range of the contract in days before and after the last session, and the length of the fallback range. */
const RECENT_DAYS = 10;
const COMING_DAYS = 90;

/** Returns the first ex-date of a default range. Returns an empty text if no store is served. */
function findFirstDate(span: Span | 'asked', last: string | null): string {
  if (last === null) return '';
  const { from } = { from: subtractDays(last, RECENT_DAYS), ...(span !== 'asked' && DATE_SPANS[span](last)) };
  return from;
}

/**
 * Default date ranges, in the order in which they are tried: the range of the contract, the next ten years, and the
 * last year.
 */
const DATE_SPANS = {
  usual: () => ({}),
  next: (last) => ({ from: subtractDays(last, -1), to: subtractDays(last, -10 * YEAR_DAYS) }),
  year: (last) => ({ from: subtractDays(last, YEAR_DAYS) }),
} as const satisfies Record<string, (last: string) => { readonly from?: string; readonly to?: string }>;

type Span = keyof typeof DATE_SPANS;

interface ActionsQuery {
  /** Data store; undefined for the served store. */
  readonly store: string | undefined;
  readonly from: string | null;
  /** Last session of the served store. */
  readonly servedEnd: string | null;
}

/** Lists the actions from a date. If no date is given, lists the actions of the first default range that has any. Also returns the last session of the store. */
async function load({ store, from, servedEnd }: ActionsQuery, signal: AbortSignal) {
  const last = store === undefined ? servedEnd : await readEnd(store, signal);
  const list = (dates: { readonly from?: string; readonly to?: string }) =>
    service.value.call('listActions', { query: { ...dates, store_id: store, limit: LISTED_MAX }, signal });
  if (from !== null) return { ...(await list({ from })), span: 'asked' as const, last };
  for (const span of ['usual', 'next'] as const) {
    const actions = await list(last === null ? {} : DATE_SPANS[span](last));
    if (last === null || actions.actions.length > 0) return { ...actions, span, last };
  }
  return { ...(await list(DATE_SPANS.year(last ?? ''))), span: 'year' as const, last }; // without a last session, the loop returns the first list
}

async function readEnd(store: string, signal: AbortSignal): Promise<string | null> {
  const { stores } = await service.value.call('listStores', { signal });
  return findStore(stores, store)?.end ?? null;
}
