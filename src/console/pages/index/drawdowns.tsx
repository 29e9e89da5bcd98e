import type { DrawdownsView, OverviewView } from '#clients/typescript/divisor.js';
import { Answered } from '../../components/feedback.js';
import { Section } from '../../components/layout/page.js';
import { type Column, createNumericColumn } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { formatRunKey, readShownRun } from '../../state/runs.js';
import { service, useResource } from '../../state/service.js';
import { formatPercent } from '../../words/numbers.js';

type Drawdown = DrawdownsView['drawdowns'][number];

const COLUMNS: readonly Column<Drawdown>[] = [
  { id: 'peak', title: 'Peak', width: 100, value: ({ peak }) => peak },
  { id: 'trough', title: 'Trough', width: 100, value: ({ trough }) => trough },
  { id: 'recovered', title: 'Recovered', width: 100, value: ({ recovered }) => recovered },
  createNumericColumn({ id: 'depth', title: 'Depth', width: 100, of: ({ depth }) => depth, write: formatPercent }),
];

export function Drawdowns({ id }: { readonly id: string; readonly run: OverviewView }) {
  const view = useResource(`drawdowns ${formatRunKey(id)}`, (signal) =>
    service.value.call('getDrawdowns', { params: { index_id: id }, query: readShownRun(), signal }),
  );
  return (
    <Answered resource={view} what="the drawdowns">
      {({ drawdowns }) => (
        <Section title="Drawdowns">
          <Table
            label={`drawdowns of ${id}`}
            name="drawdowns"
            columns={COLUMNS}
            rows={drawdowns}
            getKey={({ peak }) => peak}
            sort={{ column: 'depth', direction: 'asc' }}
            height={620}
          />
        </Section>
      )}
    </Answered>
  );
}
