import type { JobStatus, RunsDifference } from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/action-button.js';
import { Bars } from '../../components/bars.js';
import { Facts } from '../../components/facts.js';
import { JobState } from '../../components/job-state.js';
import { MayNot } from '../../components/may-not.js';
import { readVersion } from '../../components/versions/families.js';
import { ChangeTable, WrittenTable } from '../../components/versions/change-table.js';
import { Answered } from '../../components/wait.js';
import { start, type OnRefusal } from '../../state/actions.js';
import { getJob } from '../../state/live.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatChange, formatCount, formatDecimal } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';

interface RunDifferenceProps {
  readonly id: string;
  /** Id of the earlier run. The next field is the id of the later run. */
  readonly from: string;
  readonly to: string;
  /** Definition version of the later run; null if unknown. */
  readonly version: number | null;
}

/** Renders the last comparison if it is of these two runs. Otherwise renders a button that starts the comparison. */
export function RunDifference({ id, from, to, version }: RunDifferenceProps) {
  const last = useResource(`run difference ${id}`, (signal) => readLastComparison(id, signal));
  const submit = (onRefusal: OnRefusal) =>
    start(() => service.value.call('diffRuns', { params: { index_id: id }, body: { from, to } }), onRefusal).then(
      last.reload,
    );
  return (
    <Answered resource={last} what="the comparison of runs">
      {(stored) => {
        const job = stored === null ? null : { ...stored, ...getJob(stored.job_id), result: stored.result };
        if (job === null || !comparesRuns(job, { from, to }))
          return may('run') ? (
            <div>
              <ActionButton kind="main" act={submit}>
                Find the causes
              </ActionButton>
            </div>
          ) : (
            <MayNot scope="run" what="compare runs" />
          );
        const result = job.result as RunsDifference | null; // the kind of the job determines the type of its result
        return result === null ? (
          <JobState job={job} onAgain={submit} />
        ) : (
          <Difference found={result} of={{ id, version }} />
        );
      }}
    </Answered>
  );
}

/** Returns the comparison job of an index; null if there is none. The service stores only the last comparison. */
async function readLastComparison(id: string, signal: AbortSignal): Promise<JobStatus | null> {
  const { jobs } = await service.value.call('listJobs', { query: { kind: ['diff'], limit: LISTED_MAX }, signal });
  const isListed = jobs.some(({ job_id: job }) => job === `diff:${id}`);
  return isListed ? service.value.call('getJob', { params: { job_id: `diff:${id}` }, signal }) : null;
}

/** Maximum number of jobs in a response. */
const LISTED_MAX = 500;

function comparesRuns({ request }: JobStatus, { from, to }: Pick<RunDifferenceProps, 'from' | 'to'>): boolean {
  const runRequest = request as Json;
  return isObject(runRequest) && runRequest['from'] === from && runRequest['to'] === to;
}

const CAUSES = { definition: 'Definition', request: 'Terms of the run', data: 'Data', engine: 'Engine' } as const;

interface DifferenceProps {
  readonly found: RunsDifference;
  readonly of: Pick<RunDifferenceProps, 'id' | 'version'>;
}

function Difference({ found, of: { id, version } }: DifferenceProps) {
  const storedVersion = useResource(version === null ? null : `version index ${id} ${version}`, (signal) =>
    readVersion({ kind: 'index', id }, version!, signal),
  );
  const { same_levels: isSame, first_difference: first, largest, effects, total_return: total } = found;
  const { definition, request, data, engine, effects_reason: reason } = found;
  return (
    <>
      <Facts
        facts={[
          ['Levels', isSame ? 'identical on every date' : 'differ'],
          ['First date that differs', first],
          [
            'Largest difference',
            largest &&
              `${formatDecimal(largest.from)} → ${formatDecimal(largest.to)} on ${largest.date}, both 100 at their start`,
          ],
          ['Return of the later run minus that of the earlier run', formatChange(total, 4)],
          ['Engine', engine.from === engine.to ? engine.from : `${engine.from} → ${engine.to}`],
          ['Data store', formatStores(data.stores)],
        ]}
      />
      <h3>Causes</h3>
      {effects === null ? (
        <p class="quiet">The effect of each cause is not available. {reason}</p>
      ) : effects.length === 0 ? (
        <p class="quiet">The runs have the same definition, request, data and engine.</p>
      ) : (
        <Bars
          label="Effect of each cause on the total return"
          bars={[
            ...effects.map(({ cause, total_return: value }) => ({ label: CAUSES[cause], value })),
            { label: 'Total', value: total, isTotal: true },
          ]}
          isRunning
          format={(value) => formatChange(value, 4)}
        />
      )}
      {definition.length > 0 && <h3>Definition</h3>}
      {definition.length > 0 && (
        <ChangeTable
          label="Changes of the definition"
          changes={definition}
          document={storedVersion.data as JsonObject | undefined}
        />
      )}
      {request.length > 0 && <h3>Terms of the run</h3>}
      {request.length > 0 && <ChangeTable label="Changes of the terms" changes={request} />}
      {data.cells !== 0 && <h3>Data</h3>}
      <Cells data={data} />
    </>
  );
}

const formatStores = ({ from, to }: RunsDifference['data']['stores']): string | null =>
  from === to ? from : `${from ?? 'not known'} → ${to ?? 'not known'}`;

/** Renders the data values that differ between the runs. */
function Cells({ data: { cells, first, reason } }: Pick<RunsDifference, 'data'>) {
  if (cells === 0) return null;
  if (cells === null) return <p class="quiet">The list of differing values is not available. {reason}</p>;
  const formatValue = (value: unknown) => (value === null ? '–' : String(value));
  return (
    <>
      <p class="quiet">
        {formatCount(cells)} values differ{cells > first.length && `; the first ${formatCount(first.length)} of them`}.
      </p>
      <WrittenTable label="Values that differ" heads={['Table', 'Security', 'Date', 'Field', 'Before', 'After']}>
        {first.map(({ table, identifier, date, field, before, after }) => (
          <tr key={`${table} ${identifier} ${date} ${field}`}>
            <td>{table}</td>
            <th scope="row">{identifier}</th>
            <td>{date ?? 'always'}</td>
            <td>{field}</td>
            <td>{formatValue(before)}</td>
            <td>{formatValue(after)}</td>
          </tr>
        ))}
      </WrittenTable>
    </>
  );
}
