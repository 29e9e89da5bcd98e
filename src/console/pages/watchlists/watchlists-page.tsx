import '../data/data.css';
import '../designer/designer.css';
import { useId, useState } from 'preact/hooks';
import type { Operations, Watchlist } from '#clients/typescript/divisor.js';
import { Button, Icon, LinkButton, Popover } from '../../components/controls/button.js';
import { type EditedDocument, Editor, IdField, type OpenedDocument, type WriteTerms } from '../../components/editor.js';
import { Answered, Badge, EmptyState } from '../../components/feedback.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { addSign } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { StoreSelect } from '../../components/stores.js';
import { type Column, createNumericColumn } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { getParameter, navigate, type PageProps, setParameters } from '../../state/location.js';
import { may, service, useResource } from '../../state/service.js';
import { getChosenStore } from '../../state/stores.js';
import { formatWatchlistAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatCount, formatMoney } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { formatCompact } from '../../words/quantities.js';
import { findLastDate, formatSecuritiesKey, readAllSecurities } from '../names/name-table.js';
import {
  EditedTable,
  listSecurities,
  type ListSummary,
  type Row,
  type Security,
  summariseList,
  usePricedRows,
  WatchedTable,
} from './watched-table.js';

/** Maximum number of suggestions. */
const SUGGESTED_MAX = 20;

interface AddSecurityProps {
  /** Securities of the store. */
  readonly known: readonly Security[];
  /** Identifiers of the list. */
  readonly listed: readonly string[];
  /** True for an input that takes the width of the page. */
  readonly isWide: boolean;
  onAdd(identifiers: readonly string[]): void;
}

/** Renders an input for one or several identifiers with a button. It suggests identifiers and companies. */
function AddSecurity({ known, listed, isWide, onAdd }: AddSecurityProps) {
  const [typed, setTyped] = useState('');
  const listId = useId();
  const addedIdentifiers = parseTyped(typed, known).filter((identifier) => !listed.includes(identifier));
  return (
    <form
      class={isWide ? 'form-actions is-wide' : 'form-actions'}
      onSubmit={(event) => {
        event.preventDefault();
        if (addedIdentifiers.length > 0) onAdd([...new Set(addedIdentifiers)]);
        setTyped('');
      }}
    >
      <input
        class="control"
        aria-label="Security to add"
        placeholder="Add a security or company"
        list={listId}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <datalist id={listId}>
        {suggestionsFor(typed, known, listed).map(({ identifier, name }) => (
          <option key={identifier} value={identifier}>
            {name}
          </option>
        ))}
      </datalist>
      <Button type="submit" disabled={addedIdentifiers.length === 0}>
        <Icon name="plus" /> Add
      </Button>
    </form>
  );
}

/**
 * Returns the identifiers that were typed, separated by commas. Upper and lower case are those of the store. The name
 * of a company stands for its security.
 */
function parseTyped(typed: string, securities: readonly Security[]): readonly string[] {
  return typed
    .split(/[,;\n]/)
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => {
      const wantedText = text.toLowerCase();
      const foundSecurities = securities.find(
        ({ identifier, name }) => identifier.toLowerCase() === wantedText || name?.toLowerCase() === wantedText,
      );
      return foundSecurities?.identifier ?? text;
    });
}

function suggestionsFor(
  typed: string,
  securities: readonly Security[],
  listed: readonly string[],
): readonly Security[] {
  const text = typed.trim().toLowerCase();
  if (text === '') return [];
  return securities
    .filter(
      ({ identifier, name }) =>
        !listed.includes(identifier) && `${identifier} ${name ?? ''}`.toLowerCase().includes(text),
    )
    .slice(0, SUGGESTED_MAX);
}

/** Watchlist that is edited. Its id is in the address and not in the body of the request. */
interface OpenedList extends OpenedDocument {
  readonly name: string;
}

/** Page of one watchlist: its name, and its securities with their last closes. */
export function WatchlistPage({ params }: PageProps) {
  const id = params['id'] ?? null;
  const openedList = useResource(`watchlist ${id}`, (signal) => readList(id, signal), { follows: false });
  return (
    <Answered resource={openedList} what="the watchlist">
      {(first) => (
        <Editor
          title={id === null ? 'New watchlist' : first.name}
          subtitle={<StoreSelect />}
          above={[
            { address: '/console/data', text: 'Data' },
            { address: '/console/watchlists', text: 'Watchlists' },
          ]}
          idMember="id"
          opened={first}
          versioned={id === null ? undefined : { kind: 'watchlist', id }}
          reread={() => readList(id)}
          save={put}
          remove={() => service.value.call('deleteWatchlist', { params: { watchlist_id: id ?? '' } })}
          onSaved={(document) => {
            navigate(formatWatchlistAddress(String(document['id']), getChosenStore()));
            openedList.reload();
          }}
          onRemoved={() => navigate('/console/watchlists')}
          onReload={openedList.reload}
        >
          {(edited) => (
            <>
              {id === null && <Form edited={edited} isStored={false} />}
              <Securities edited={edited} list={first} />
            </>
          )}
        </Editor>
      )}
    </Answered>
  );
}

async function readList(id: string | null, signal?: AbortSignal): Promise<OpenedList> {
  if (id === null) {
    const document = { id: '', name: '', identifiers: [] };
    return { document, etag: null, name: '' };
  }
  const { answer, etag } = await service.value.callWithEtag('getWatchlist', { params: { watchlist_id: id }, signal });
  const { name, description, identifiers } = answer;
  return { document: { id, name, description, identifiers }, etag, name };
}

type WatchlistBody = Operations['putWatchlist']['request']['body'];

function put(document: JsonObject, write: WriteTerms) {
  const { id: _, ...body } = document;
  return service.value.callWithEtag('putWatchlist', {
    params: { watchlist_id: String(document['id']) },
    body: body as unknown as WatchlistBody, // the service validates the document
    ...write,
  });
}

function Form({ edited, isStored }: { readonly edited: EditedDocument; readonly isStored: boolean }) {
  const { document, findings, set } = edited;
  const form = {
    schema: 'WatchlistUpsert',
    value: document,
    findings,
    onChange: set,
  };
  return (
    <div class="form-card">
      <div class="field-grid is-joined">
        <SchemaForm {...form} names={['name']} />
        <IdField edited={edited} member="id" alias="watchlist_id" isFixed={isStored} />
        <SchemaForm {...form} except={isStored ? ['name'] : ['name', 'identifiers']} />
      </div>
    </div>
  );
}

interface SecuritiesProps {
  readonly edited: EditedDocument;
  readonly list: OpenedList;
}

/**
 * Renders the securities of a list and, if the list is stored, its form. Securities are added and removed in the table.
 */
function Securities({ edited, list }: SecuritiesProps) {
  const { document, set, isChanged } = edited;
  const store = getChosenStore();
  const names = useResource(formatSecuritiesKey(store), (signal) => readAllSecurities(signal, store));
  const identifiers = getIdentifiers(document);
  const change = (next: readonly string[]) => set({ ...document, identifiers: [...next] });
  const mayEdit = may('write');
  const isStored = list.etag !== null;
  const addition = (
    <AddSecurity
      known={names.data ?? []}
      listed={identifiers}
      isWide={!isStored}
      onAdd={(added) => change([...identifiers, ...added])}
    />
  );
  return (
    <>
      <Section
        title="Securities"
        aside={
          mayEdit && (
            <>
              {isStored && isChanged && <span>not saved yet</span>}
              {isStored && addition}
              {isStored && (
                <Popover label="Edit the list: name, description and order" title="Edit the list">
                  {() => <Form edited={edited} isStored />}
                </Popover>
              )}
            </>
          )
        }
      >
        {identifiers.length === 0 && (
          <p class="quiet">Add securities by identifier or company; several are separated by commas.</p>
        )}
        {mayEdit && !isStored && addition}
        {identifiers.length > 0 && (
          <EditedTable
            identifiers={identifiers}
            onRemove={mayEdit ? (removed) => change(identifiers.filter((own) => !removed.includes(own))) : undefined}
          />
        )}
      </Section>
    </>
  );
}

const getIdentifiers = ({ identifiers }: JsonObject): readonly string[] =>
  Array.isArray(identifiers) ? identifiers.filter((identifier) => typeof identifier === 'string') : [];

/** Number of watchlists above which the table has a search. */
const SEARCH_MIN = 8;

/** Page of the watchlists. */
export function WatchlistsPage() {
  const store = getChosenStore();
  const lists = useResource('watchlists', (signal) => service.value.call('listWatchlists', { signal }));
  const names = useResource(formatSecuritiesKey(store), (signal) => readAllSecurities(signal, store));
  const add = may('write') && (
    <LinkButton kind="main" href="/console/watchlists/new">
      <Icon name="plus" /> New watchlist
    </LinkButton>
  );
  return (
    <Page title="Watchlists" above={[{ address: '/console/data', text: 'Data' }]} actions={add}>
      <Answered resource={lists} what="the watchlists">
        {({ watchlists }) =>
          watchlists.length === 0 ? (
            <EmptyState title="No watchlist yet">
              A watchlist is an ordered list of securities, with their returns. It may be the universe of an index.
            </EmptyState>
          ) : (
            <Answered resource={names} what="the securities">
              {(all) => <Lists lists={watchlists} all={all} />}
            </Answered>
          )
        }
      </Answered>
    </Page>
  );
}

/** A watchlist with its securities. */
interface PricedList extends Watchlist, ListSummary {
  readonly rows: readonly Row[];
  /** True while the prices of a security are loading. */
  readonly isAwaited: boolean;
}

interface ListsProps {
  readonly lists: readonly Watchlist[];
  /** Securities of the data store. */
  readonly all: readonly Security[];
}

/** Renders the watchlists, and the securities of the selected one. By default it is the list that was saved last. */
function Lists({ lists, all }: ListsProps) {
  const lastDate = findLastDate(all);
  const shown =
    lists.find(({ watchlist_id: id }) => id === getParameter('list')) ??
    lists.reduce((latest, list) => (list.updated_at > latest.updated_at ? list : latest));
  // The prices of the selected list are read first.
  const identifiers = [...new Set([shown, ...lists].flatMap((list) => list.identifiers))];
  const rowById = new Map(usePricedRows(listSecurities(all, identifiers)).map((row) => [row.identifier, row]));
  const pricedLists = lists.map((list): PricedList => {
    const rows = list.identifiers.map((identifier) => rowById.get(identifier)!); // every identifier has a row
    return { ...list, ...summariseList(rows, lastDate), rows, isAwaited: rows.some((row) => row.isAwaited) };
  });
  const { rows } = pricedLists.find(({ watchlist_id: id }) => id === shown.watchlist_id)!; // the shown list is one of them
  return (
    <>
      <Table
        label="watchlists"
        name="lists"
        columns={COLUMNS}
        rows={pricedLists}
        getKey={({ watchlist_id: id }) => id}
        openKey={shown.watchlist_id}
        onOpen={({ watchlist_id: id }) => setParameters({ list: id })}
        {...(lists.length > SEARCH_MIN && { searchIn: ({ watchlist_id: id, name }) => `${id} ${name}` })}
        sort={{ column: 'name', direction: 'asc' }}
        height={240}
      />
      <Section
        title={shown.name}
        aside={<LinkButton href={formatWatchlistAddress(shown.watchlist_id, getChosenStore())}>Edit</LinkButton>}
      >
        <WatchedTable key={shown.watchlist_id} rows={rows} lastDate={lastDate} />
      </Section>
    </>
  );
}

/** Returns a column of a median, which is unknown while the prices of a security are loading or not read. */
const createMedianColumn = (
  column: Pick<Column<PricedList>, 'id' | 'title' | 'priority'>,
  of: (list: PricedList) => number | null,
): Column<PricedList> =>
  createNumericColumn<PricedList>({
    ...column,
    help: 'Median of the securities with a price on the last date of the data store',
    width: 110,
    of: (list) => (list.isAwaited || list.traded.some(({ year }) => year === undefined) ? null : of(list)),
    write: addSign,
  });

const COLUMNS: readonly Column<PricedList>[] = [
  {
    id: 'name',
    title: 'Watchlist',
    width: 110,
    grow: 2,
    value: ({ name }) => name,
    show: ({ name, watchlist_id: id }) => <strong title={id}>{name}</strong>,
  },
  {
    id: 'names',
    title: 'Securities',
    width: 206,
    grow: 1,
    value: (list) => list.rows.length,
    show: ({ rows, ended, missing }) => (
      <>
        {formatCount(rows.length)} <Note rows={ended} state="ended" /> <Note rows={missing} state="not in the store" />
      </>
    ),
  },
  createMedianColumn({ id: 'day', title: 'Median 1 day', priority: 4 }, ({ medianDay }) => medianDay),
  createMedianColumn({ id: 'ytd', title: 'Median YTD', priority: 2 }, ({ medianYear }) => medianYear),
  {
    id: 'cap',
    title: 'Market cap',
    help: 'Sum of the securities with a price on the last date of the data store',
    width: 110,
    priority: 5,
    align: 'right',
    value: ({ capital }) => capital?.sum ?? null,
    show: ({ capital }) => formatMoney(formatCompact(capital?.sum ?? null), capital?.currency ?? null),
  },
  {
    id: 'at',
    title: 'Saved',
    width: 172,
    priority: 6,
    value: (row) => row.updated_at,
    show: (row) => formatMoment(row.updated_at),
  },
];

/** Renders the number of securities in a state. */
const Note = ({ rows, state }: { readonly rows: readonly Row[]; readonly state: string }) =>
  rows.length === 0 ? null : (
    <Badge kind="warning" title={rows.map(({ identifier }) => identifier).join(', ')}>
      {formatCount(rows.length)} {state}
    </Badge>
  );
