import type { DataStore } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { Badge } from '../../components/badge.js';
import { Findings } from '../../components/findings.js';
import { ValueSkeleton } from '../../components/skeleton.js';
import { health } from '../../state/live.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { storeAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { describeDue, describeLag, findLag } from '../../words/freshness.js';
import { formatCount, countValues } from '../../words/numbers.js';

const KINDS: Readonly<Record<DataStore['kind'], string>> = {
  folder: 'folder',
  database: 'database',
  imported: 'imported',
  synthetic: 'synthetic',
};

/** Renders the number of securities, the dates and the data warnings of the served store. */
export function ServedStore({ store }: { readonly store: DataStore }) {
  const { store_id: id, name, kind, identifiers, start, end, last_loaded_at: loadedAt, status } = store;
  const dataStore = useResource(`store ${id}`, (signal) =>
    service.value.call('getStore', { params: { store_id: id }, signal }),
  );
  const findings = dataStore.data?.findings ?? [];
  /** Formats a figure. While a store is loading, it has neither dates nor counts. */
  function renderValue<T extends string | number>(
    value: T | null,
    text: (value: T) => string = String,
  ): ComponentChildren {
    if (value !== null) return text(value);
    return status === 'loading' ? <ValueSkeleton /> : '–';
  }
  const lag = findLag(health.value?.freshness, id);
  const warnings = findings.filter(({ severity }) => severity !== 'info');
  return (
    <section class="served" aria-labelledby="served-title">
      <h2 id="served-title" class="served-title">
        Served market
      </h2>
      <div class="served-name">
        <a href={storeAddress(id)}>{name}</a>
        <Badge>{KINDS[kind]}</Badge>
        {status !== 'ready' && <Badge kind="warning">{status}</Badge>}
      </div>
      <dl class="served-facts">
        <Fact term="Securities">{renderValue(identifiers, formatCount)}</Fact>
        <Fact term="From">{renderValue(start)}</Fact>
        <Fact term="To">
          {renderValue(end)}{' '}
          {lag !== undefined && lag.behind > 0 && (
            <Badge kind="warning" title={describeDue(lag)}>
              {describeLag(lag)}
            </Badge>
          )}
        </Fact>
        <Fact term="Read">{renderValue(loadedAt, formatMoment)}</Fact>
      </dl>
      {warnings.length > 0 && (
        <details class="served-doubts">
          <summary>{countValues(warnings.length, 'warning')} of the last read</summary>
          <Findings findings={warnings} />
        </details>
      )}
    </section>
  );
}

function Fact({ term, children }: { readonly term: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}
