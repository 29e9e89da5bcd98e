import type { DataStore } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Findings } from '../../components/findings.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { storeAddress } from '../../words/addresses.js';
import { moment } from '../../words/dates.js';
import { count, countValues } from '../../words/numbers.js';

const KINDS: Readonly<Record<DataStore['kind'], string>> = {
  folder: 'folder',
  database: 'database',
  imported: 'imported',
  synthetic: 'synthetic',
};

/** Renders the served market: number of securities, dates and data warnings. */
export function ServedStore({ store }: { readonly store: DataStore }) {
  const { store_id: id, name, kind, identifiers, start, end, last_loaded_at: loadedAt, status } = store;
  const whole = useResource(`store ${id}`, (signal) =>
    service.value.call('getStore', { params: { store_id: id }, signal }),
  );
  const findings = whole.data?.findings ?? [];
  const doubts = findings.filter(({ severity }) => severity !== 'info');
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
        <Fact term="Securities">{count(identifiers)}</Fact>
        <Fact term="From">{start ?? '–'}</Fact>
        <Fact term="To">{end ?? '–'}</Fact>
        <Fact term="Read">{moment(loadedAt)}</Fact>
      </dl>
      {doubts.length > 0 && (
        <details class="served-doubts">
          <summary>{countValues(doubts.length, 'warning')}</summary>
          <Findings findings={doubts} />
        </details>
      )}
    </section>
  );
}

function Fact({ term, children }: { readonly term: string; readonly children: string }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}
