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
import { createStoredList } from '../../state/stored-list.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { countValues, formatCount } from '../../words/numbers.js';

/** Result of recomputing the identities of a run. */
interface Outcome {
  readonly index_id: string;
  /** Time of the run. The outcome does not apply to a later run. */
  readonly run_at: string | null;
  readonly checked_at: string;
  readonly reconciles: boolean;
  readonly text: string;
}

/** Maximum number of stored outcomes, which is 200 kB. If there are more runs, the newest outcomes are shown. */
const OUTCOMES_MAX = 1000;

const { items: outcomes, set: storeOutcomes } = createStoredList<Outcome>('divisor.reconciliations', OUTCOMES_MAX);

/** Renders the results of recomputing the identities of all stored runs. */
export function RunChecks() {
  const runs = useResource('backtests', (signal) => service.value.call('listBacktests', { signal }));
  return (
    <Answered resource={runs} what="the runs">
      {({ backtests }) => backtests.length > 0 && <Checks runs={backtests} />}
    </Answered>
  );
}

type Run = BacktestRecordCollection['backtests'][number];

function Checks({ runs }: { readonly runs: readonly Run[] }) {
  const [done, setDone] = useState<number | null>(null);
  const isWanted = useRef(true);
  const check = async () => {
    isWanted.current = true;
    // Runs are checked one after another, because a check reads and hashes a whole run.
    for (const [k, run] of runs.entries()) {
      setDone(k);
      const outcome = await readOutcome(run);
      storeOutcomes([...outcomes.peek().filter(({ index_id: id }) => id !== run.index_id), outcome]);
      if (!isWanted.current) break;
    }
    setDone(null);
  };
  const rows = runs.flatMap(
    (run) => outcomes.value.find((one) => one.index_id === run.index_id && one.run_at === run.run_at) ?? [],
  );
  return (
    <Section
      title="Reconciliation of every run"
      aside={
        done === null ? (
          <>
            <span>
              {formatCount(rows.length)} of {countValues(runs.length, 'run')} checked
            </span>
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
      {rows.length === 0 ? (
        <p class="quiet">
          A check recomputes the identities of a run, for example that the contributions of its constituents sum to its
          return. This browser stores the outcomes.
        </p>
      ) : (
        <Table
          label="runs"
          columns={COLUMNS}
          rows={rows}
          getKey={({ index_id: id }) => id}
          formatAddress={({ index_id: id }) => `${formatIndexAddress(id)}?tab=risk`}
          height={400}
        />
      )}
    </Section>
  );
}

async function readOutcome({ index_id: id, run_at: runAt }: Run): Promise<Outcome> {
  const outcome = { index_id: id, run_at: runAt, checked_at: new Date().toISOString() };
  try {
    const view = await service.value.call('reconcileRun', { params: { index_id: id } });
    return { ...outcome, reconciles: view.reconciles, text: formatState(view) };
  } catch (thrown) {
    return { ...outcome, reconciles: false, text: createTrouble(thrown).message };
  }
}

function formatState({ checks }: ReconciliationView): string {
  const failedChecks = checks.filter(({ holds }) => !holds);
  return failedChecks.length === 0
    ? `all ${checks.length} identities hold`
    : `${failedChecks.length} of ${checks.length} do not hold: ${failedChecks.map(({ name }) => name).join(', ')}`;
}

const COLUMNS: readonly Column<Outcome>[] = [
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
    value: ({ text }) => text,
    show: ({ reconciles, text }) => <Badge kind={reconciles ? 'good' : 'bad'}>{text}</Badge>,
  },
  {
    id: 'checked',
    title: 'Checked at',
    width: 172,
    priority: 3,
    value: (row) => row.checked_at,
    show: (row) => formatMoment(row.checked_at),
  },
];
