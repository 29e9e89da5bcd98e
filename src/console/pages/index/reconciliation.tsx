import type { ReconciliationView } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { countValues, formatFigure, formatResidual } from '../../words/numbers.js';

type Check = ReconciliationView['checks'][number];

/** Renders the identities of the run and whether they hold when they are recomputed. */
export function Reconciliation({ id }: { readonly id: string }) {
  const view = useResource(
    `reconcile ${formatRunKey(id)}`,
    (signal) => service.value.call('reconcileRun', { params: { index_id: id }, query: readShownRun(), signal }),
    { follows: false },
  );
  return (
    <Section
      title="Identities"
      aside={
        view.data !== undefined &&
        (view.data.reconciles ? (
          <Badge kind="good">all {view.data.checks.length} identities hold</Badge>
        ) : (
          <Badge kind="bad">some identities do not hold</Badge>
        ))
      }
    >
      <Answered resource={view} what="the identities, which are being recomputed">
        {({ checks, reconciles }) => (
          <details open={!reconciles}>
            <summary>The {countValues(checks.length, 'identity', 'identities')} of the run</summary>
            <Table label="identities" columns={CHECK_COLUMNS} rows={checks} getKey={({ name }) => name} height={420} />
          </details>
        )}
      </Answered>
    </Section>
  );
}

const CHECK_COLUMNS: readonly Column<Check>[] = [
  {
    id: 'holds',
    title: 'Holds',
    width: 70,
    value: ({ holds }) => Number(holds),
    copy: ({ holds }) => (holds ? 'yes' : 'no'),
    show: ({ holds }) => (holds ? <Badge kind="good">yes</Badge> : <Badge kind="bad">no</Badge>),
  },
  {
    id: 'meaning',
    title: 'Identity',
    width: 200,
    grow: 4,
    value: ({ meaning }) => meaning,
    show: ({ meaning }) => <span title={meaning}>{meaning}</span>,
  },
  createNumericColumn({
    id: 'residual',
    title: 'Residual',
    width: 110,
    priority: 2,
    of: ({ residual }) => residual,
    write: (value) => <span title={formatFigure(value)}>{formatResidual(value)}</span>,
  }),
  createNumericColumn({
    id: 'tolerance',
    title: 'Tolerance',
    width: 110,
    priority: 3,
    of: ({ tolerance }) => tolerance,
    write: formatFigure,
  }),
];
