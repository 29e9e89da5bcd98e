import type { DataStoreCreate } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { MayNot } from '../../components/may-not.js';
import { Page } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { Wait } from '../../components/wait.js';
import { go } from '../../state/place.js';
import { may } from '../../state/principal.js';
import { changed } from '../../state/resource.js';
import { service, troubleOf, type Trouble } from '../../state/service.js';
import { storeAddress } from '../../words/addresses.js';
import type { JsonObject } from '../../words/paths.js';
import { elsewhere, StoreFields, useServed } from './store-fields.js';
import './data.css';

const FIELDS: readonly FieldSpec[] = [
  { name: 'kind', label: 'What it is', kind: 'choice', choices: ['folder', 'database'], isRequired: true },
  {
    name: 'location',
    label: 'Where it is',
    kind: 'text',
    isRequired: true,
    isWide: true,
    help: 'A folder on the machine of the service, or sqlite:///path, duckdb:///path, postgresql://user:password@host:port/database.',
  },
];

const AFTER: readonly FieldSpec[] = [
  {
    name: 'tables',
    label: 'Tables',
    kind: 'json',
    help: 'Files or tables under other names than market, reference, corporate_actions, universes, series: {"market": "eod_bars"}.',
  },
];

const FIRST: JsonObject = { kind: 'folder', location: '', name: '', adjustment: 'none' };

/** A folder or database becomes a store where it lies, once it has been read in full. */
export function ConnectPage() {
  const { served, activate } = useServed();
  const [typed, setWanted] = useState<JsonObject>(FIRST);
  const wanted: JsonObject = { activate, ...typed };
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [isReading, setReading] = useState(false);
  const send = async () => {
    setReading(true);
    setTrouble(null);
    try {
      const body = wanted as unknown as DataStoreCreate; // The service says what is wrong with it.
      const store = await service.value.call('createStore', { body });
      changed();
      go(storeAddress(store.store_id));
    } catch (thrown) {
      setTrouble(troubleOf(thrown));
    }
    setReading(false);
  };
  const rest = elsewhere(trouble?.findings ?? [], [...FIELDS, ...AFTER]);
  return (
    <Page
      title="Connect"
      above={[{ address: '/console/data', text: 'Data' }]}
      subtitle="Data stays where it is; it is read in full before it is registered"
    >
      {may('data') ? (
        <form
          class="form-card"
          aria-label="Where the data is"
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <StoreFields
            more={FIELDS}
            after={AFTER}
            value={wanted}
            served={served}
            findings={trouble?.findings ?? []}
            onChange={setWanted}
          />
          <div class="form-actions">
            <Button
              kind="main"
              type="submit"
              disabled={isReading || wanted['name'] === '' || wanted['location'] === ''}
            >
              Connect
            </Button>
            {isReading && <Wait what="the service, which reads every row" />}
          </div>
        </form>
      ) : (
        <MayNot scope="data" what="register a store" />
      )}
      {trouble !== null && (trouble.findings.length === 0 || rest.length > 0) && (
        <Problem trouble={{ ...trouble, findings: rest }} />
      )}
    </Page>
  );
}
