import '../data/data.css';
import '../designer/designer.css';
import { useId, useState } from 'preact/hooks';
import type { Operations } from '#clients/typescript/divisor.js';
import { Button, Icon, Popover } from '../../components/controls/button.js';
import { type EditedDocument, Editor, IdField, type OpenedDocument, type WriteTerms } from '../../components/editor.js';
import { Answered } from '../../components/feedback.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Section } from '../../components/layout/page.js';
import { StoreSelect } from '../../components/stores.js';
import { navigate, type PageProps } from '../../state/location.js';
import { may, service, useResource } from '../../state/service.js';
import { getChosenStore } from '../../state/stores.js';
import { formatWatchlistAddress } from '../../words/addresses.js';
import type { JsonObject } from '../../words/paths.js';
import { formatSecuritiesKey, readAllSecurities } from '../names/name-table.js';
import { EditedTable, type Security } from './watched-table.js';

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
