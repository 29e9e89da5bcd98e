import type { BacktestRecordCollection, ReconciliationView } from '#clients/typescript/divisor.js';
import { useRef, useState } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Section } from '../../components/page.js';
import { Progress } from '../../components/progress.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service, createTrouble } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';

interface Outcome {
  readonly view: ReconciliationView | null;
  readonly trouble: string | null;
}
type Outcomes = ReadonlyMap<string, Outcome>;

/** Renders all stored runs with the results of recomputing their identities. */
export function RunChecks() {
  const runs = useResource('backtests', (signal) => service.value.call('listBacktests', { signal }));
  return (
    <Answered resource={runs} what="the runs">
      {({ backtests }) => backtests.length > 0 && <Checks runs={backtests} />}
    </Answered>
  );
}

type Run = BacktestRecordCollection['backtests'][number];
type Row = Run & { readonly outcome: Outcome | undefined };

function Checks({ runs }: { readonly runs: readonly Run[] }) {
  const [outcomes, setOutcomes] = useState<Outcomes>(new Map());
  const [done, setDone] = useState<number | null>(null);
  const isWanted = useRef(true);
  const check = async () => {
    isWanted.current = true;
    const checkOutcomes = new Map<string, Outcome>();
    // Runs are checked one after another, because a check reads and hashes a whole run.
    for (const [k, { index_id: id }] of runs.entries()) {
      setDone(k);
      checkOutcomes.set(id, await readOutcome(id));
      setOutcomes(new Map(checkOutcomes));
      if (!isWanted.current) break;
    }
    setDone(null);
  };
  return (
    <Section
      title="Reconciliation of every run"
      aside={
        done === null ? (
          <>
            {outcomes.size === 0 && <span>not checked since this page was opened</span>}
            <Button onClick={() => void check()}>Check all {runs.length}</Button>
          </>
        ) : (
          <>
            <span>
              {done} of {runs.length}
            </span>
            <Progress value={done / runs.length} label="Runs checked" />
            <Button
              kind="bare"
              onClick={() => {
                isWanted.current = false;
              }}
            >
              Stop
            </Button>
          </>
        )
      }
    >
      <Table
        label="runs"
        columns={COLUMNS}
        rows={runs.map((run): Row => ({ ...run, outcome: outcomes.get(run.index_id) }))}
        getKey={({ index_id: id }) => id}
        formatAddress={({ index_id: id }) => `${formatIndexAddress(id)}?tab=risk`}
        height={400}
      />
    </Section>
  );
}

async function readOutcome(id: string): Promise<Outcome> {
  try {
    return { view: await service.value.call('reconcileRun', { params: { index_id: id } }), trouble: null };
  } catch (thrown) {
    return { view: null, trouble: createTrouble(thrown).message };
  }
}

const formatState = (outcome: Outcome): string => {
  if (outcome.view === null) return outcome.trouble ?? 'cannot be checked';
  const { checks } = outcome.view;
  const failedChecks = checks.filter(({ holds }) => !holds);
  return failedChecks.length === 0
    ? `all ${checks.length} identities hold`
    : `${failedChecks.length} of ${checks.length} do not hold: ${failedChecks.map(({ name }) => name).join(', ')}`;
};

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'index',
    title: 'Run of',
    width: 150,
    grow: 1,
    value: (row) => row.index_id,
    show: (row) => <strong>{row.index_id}</strong>,
  },
  {
    id: 'run',
    title: 'Run at',
    width: 172,
    priority: 2,
    value: (row) => row.run_at,
    show: (row) => formatMoment(row.run_at),
  },
  {
    id: 'outcome',
    title: 'Outcome',
    width: 200,
    grow: 2,
    value: ({ outcome }) => (outcome === undefined ? null : formatState(outcome)),
    show: ({ outcome }) =>
      outcome !== undefined && (
        <Badge kind={outcome.view?.reconciles === true ? 'good' : 'bad'}>{formatState(outcome)}</Badge>
      ),
  },
];
