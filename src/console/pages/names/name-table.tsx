import type { IdentifierSearch } from '#clients/typescript/divisor.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { nameAddress } from '../../words/addresses.js';

type Row = IdentifierSearch['identifiers'][number];

/** Page size and maximum number of requests, enough for the largest market. */
const AT_ONCE = 1000;
const PAGES_MAX = 10;

/** Renders all securities of the served store. */
export function NameTable() {
  const names = useResource('names of the store', allNames);
  return (
    <Answered resource={names} what="the names">
      {(rows) => (
        <Table
          label="names"
          name="names"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ identifier }) => identifier}
          addressOf={({ identifier }) => nameAddress(identifier)}
          searchIn={({ identifier, name }) => `${identifier} ${name ?? ''}`}
          sort={{ column: 'identifier', direction: 'asc' }}
          height={640}
        />
      )}
    </Answered>
  );
}

async function allNames(signal: AbortSignal): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let after: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const { identifiers, next } = await service.value.call('searchIdentifiers', {
      query: { limit: AT_ONCE, after },
      signal,
    });
    rows.push(...identifiers);
    if (next === null) break;
    after = next;
  }
  return rows;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'identifier',
    title: 'Security',
    width: 120,
    grow: 1,
    value: ({ identifier }) => identifier,
    show: ({ identifier }) => <strong>{identifier}</strong>,
  },
  { id: 'company', title: 'Company', width: 120, grow: 3, priority: 2, value: ({ name }) => name },
  { id: 'start', title: 'First price', width: 100, value: ({ start }) => start },
  { id: 'end', title: 'Last price', width: 100, value: ({ end }) => end },
];
