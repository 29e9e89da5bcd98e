import type { CoverageHistoryResponse, DataStore } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import type { Line, Unit } from '../../components/chart/series.js';
import { Section } from '../../components/page.js';
import { RangeBar } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { chooseRange, chosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { count } from '../../words/numbers.js';

const NAMES: Unit = { of: 'number', digits: 0 };

/** Renders the number of securities with a price over time, and the data available to rules. */
export function Coverage({ store }: { readonly store: DataStore }) {
  const history = useResource(`coverage ${store.store_id} ${store.content_hash}`, (signal) =>
    service.value.call('getCoverageHistory', { signal }),
  );
  const fields = useResource(`fields ${store.store_id} ${store.content_hash}`, (signal) =>
    service.value.call('listFields', { signal }),
  );
  return (
    <div class="data-part">
      <Answered resource={history} what="the coverage through time">
        {(view) => <Through view={view} />}
      </Answered>
      <Answered resource={fields} what="the fields">
        {({ fields: all, universes }) => (
          <>
            <Section title="Fields" aside="available to rules">
              <Table
                label="fields"
                name="fields"
                columns={FIELD_COLUMNS}
                rows={all}
                keyOf={({ dataset, name }) => `${dataset} ${name}`}
                searchIn={({ name, dataset }) => `${name} ${dataset}`}
                height={360}
              />
            </Section>
            {universes.length > 0 && (
              <Section title="Universes">
                <p>{universes.join(', ')}</p>
              </Section>
            )}
          </>
        )}
      </Answered>
    </div>
  );
}

function Through({ view: { dates, priced, expected } }: { readonly view: CoverageHistoryResponse }) {
  const lines = useMemo<readonly Line[]>(
    () => [
      { id: 'priced', label: 'Securities with a price', values: priced, colour: 1 },
      { id: 'expected', label: 'Securities expected to have a price', values: expected, colour: 2, isDashed: true },
    ],
    [priced, expected],
  );
  const [start, end] = [dates[0], dates.at(-1)];
  if (start === undefined || end === undefined) return null;
  return (
    <Section title="Securities through time" aside="expected: between the first and the last price of a security">
      <RangeBar start={start} end={end} />
      <Chart
        label="Securities with a price"
        dates={dates}
        lines={lines}
        height={260}
        hasZero
        unit={NAMES}
        range={chosenRange()}
        onRange={chooseRange}
      />
      <p class="quiet">
        On {end}: {count(priced.at(-1))} of {count(expected.at(-1))}.
      </p>
    </Section>
  );
}

interface FieldRow {
  readonly name: string;
  readonly dataset: string;
  readonly kind: string;
}

const FIELD_COLUMNS: readonly Column<FieldRow>[] = [
  {
    id: 'name',
    title: 'Field',
    width: 190,
    grow: 2,
    value: ({ name }) => name,
    show: ({ name }) => <code>{name}</code>,
  },
  { id: 'dataset', title: 'From', width: 90, grow: 1, value: ({ dataset }) => dataset },
  { id: 'kind', title: 'Kind', width: 84, grow: 1, value: ({ kind }) => kind },
];
