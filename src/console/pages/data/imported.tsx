import type { ImportResult } from '#clients/typescript/divisor.js';
import { useLayoutEffect } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { LinkButton } from '../../components/button.js';
import { FindingTable } from '../../components/finding-table.js';
import { rescueFocus } from '../../components/focus.js';
import { Metrics } from '../../components/metrics.js';
import { Page, Section } from '../../components/page.js';
import { activateStore } from '../../state/actions.js';
import { may } from '../../state/principal.js';
import { storeAddress } from '../../words/addresses.js';
import { formatCount } from '../../words/numbers.js';
import { createRowMetrics } from './store-overview.js';

export const PARENT_PAGES = [{ address: '/console/data', text: 'Data' }];

/** Renders the store that an import created. */
export function ImportedPage({ result }: { readonly result: ImportResult }) {
  const { store, rows, identifiers, start, end, findings } = result;
  useLayoutEffect(rescueFocus, []); // the button that had the focus has been removed
  return (
    <Page
      title="Imported"
      above={PARENT_PAGES}
      subtitle={store.name}
      actions={
        <>
          {!store.active && may('data') && (
            <ActionButton act={(onRefusal) => activateStore(store.store_id, onRefusal)}>
              Serve {store.name}
            </ActionButton>
          )}
          {store.active && may('write') && <LinkButton href="/console/indices/new">New index</LinkButton>}
          <LinkButton kind="main" href={storeAddress(store.store_id)}>
            Open the store
          </LinkButton>
        </>
      }
    >
      <Metrics
        label="Imported data"
        metrics={[
          { term: 'Securities', value: formatCount(identifiers) },
          { term: 'From', value: start ?? '–' },
          { term: 'To', value: end ?? '–' },
          ...createRowMetrics(rows),
        ]}
      />
      {findings.length > 0 && (
        <Section title="Data warnings" aside="Data warnings do not block an import">
          <FindingTable label="Data warnings of the import" findings={findings} />
        </Section>
      )}
    </Page>
  );
}
