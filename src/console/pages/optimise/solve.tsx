import type { Finding, IndexDocument, PreviewConstraint, PreviewResponse } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Findings } from '../../components/findings.js';
import { Metrics } from '../../components/metrics.js';
import { Problem } from '../../components/problem.js';
import { DateInput } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Wait } from '../../components/wait.js';
import { useOneAtATime } from '../../state/one-at-a-time.js';
import { parameter, setParameters } from '../../state/place.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { signed } from '../../components/signed.js';
import { count, figure, percent } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { Infeasible } from './infeasible.js';
import { LookAhead } from './look-ahead.js';
import { rowWords } from './measures.js';
import { derivedFrom } from './rows.js';
import type { Terms } from './terms.js';

interface SolveProps {
  readonly parent: IndexDocument;
  readonly rows: readonly JsonObject[];
  readonly terms: Terms;
  readonly isValid: boolean;
  readonly findings: readonly Finding[];
  onRows(rows: readonly JsonObject[]): void;
  onTerms(terms: Terms): void;
}

/** What the rows come to on a date, while they are written. */
export function Solve(props: SolveProps) {
  const { parent, rows, terms, isValid, findings, onRows, onTerms } = props;
  const stores = useResource('stores', (signal) => service.value.call('listStores', { signal }));
  const served = stores.data?.stores.find(({ active }) => active);
  const asOf = parameter('on') ?? served?.end ?? null;
  const schedule = useResource(asOf === null ? null : `schedule ${parent.id} ${asOf}`, (signal) =>
    service.value.call('getSchedule', {
      params: { index_id: parent.id },
      query: { as_of: asOf ?? '', limit: 1 },
      signal,
    }),
  );
  // One rebalance is solved, the last one: those before it would be the work of a run.
  const base = schedule.data === undefined ? null : (schedule.data.recent[0] ?? parent.base_date);
  const document = derivedFrom(parent, { base: base ?? parent.base_date, rows, terms });
  const solved = useOneAtATime(
    isValid && asOf !== null && base !== null ? `${asOf} ${JSON.stringify(document)}` : null,
    () => service.value.call('previewDocument', { body: { document, as_of: asOf } }),
  );
  const { data, trouble, isBehind } = solved;
  return (
    <aside class="designer-live" aria-label="What the rows come to">
      <div class="live-bar">
        <h2>Solution</h2>
        {asOf !== null && served?.start != null && served.end !== null && (
          <label class="select">
            <span class="quiet">On</span>
            <DateInput
              label="Date"
              value={asOf}
              least={served.start}
              most={served.end}
              onChange={(on) => setParameters({ on: on === served.end ? null : on })}
            />
          </label>
        )}
      </div>
      {asOf === null && <p class="quiet">No data is served: there is nothing to solve on.</p>}
      {findings.length > 0 && <Findings findings={findings} shown={4} />}
      <div class={isBehind ? 'live-answer is-behind' : 'live-answer'} aria-busy={isBehind}>
        {trouble !== null &&
          (trouble.code === 'INFEASIBLE' ? (
            <Infeasible message={trouble.message} detail={trouble.detail} rows={rows} onRows={onRows} />
          ) : trouble.code === 'LOOK_AHEAD' ? (
            <LookAhead
              message={trouble.message}
              detail={trouble.detail}
              indexId={parent.id}
              onModel={(id) => onTerms({ ...terms, risk_model: id })}
            />
          ) : (
            <Problem trouble={trouble} />
          ))}
        {isBehind && <Wait what="the solution" />}
        {data !== undefined && trouble === null && <Solution preview={data} />}
      </div>
    </aside>
  );
}

function Solution({ preview }: { readonly preview: PreviewResponse }) {
  const { assets, solve, findings, total_weight: total } = preview;
  if (solve === null) return null;
  const held = assets.filter(({ weight }) => weight !== null && weight !== 0);
  const moves = assets.filter(({ weight_delta: delta }) => delta !== null && delta !== 0);
  return (
    <>
      <Metrics
        label="Figures of the solution"
        metrics={[
          { term: 'Names', value: count(held.length), note: `rebalance of ${solve.rebalance_date}` },
          { term: 'Weight', value: percent(total) },
          { term: 'Binding', value: count(solve.binding.length) },
        ]}
      />
      {findings.length > 0 && <Findings findings={findings} shown={3} />}
      <h3>Constraints</h3>
      <Table
        label="constraints with their slack"
        columns={CONSTRAINTS}
        rows={solve.constraints}
        keyOf={({ label }) => label}
        sort={{ column: 'slack', direction: 'asc' }}
        height={280}
      />
      <h3>Largest moves</h3>
      <Table
        label="weights against those of the index"
        columns={MOVES}
        rows={moves}
        keyOf={({ identifier }) => identifier}
        sort={{ column: 'delta', direction: 'desc' }}
        height={360}
        empty="The weights are those of the index."
      />
    </>
  );
}

/** A slack in its unit. */
export function slackText(slack: number, unit: PreviewConstraint['unit']): string {
  return unit === 'fraction' ? percent(slack) : figure(slack);
}

const CONSTRAINTS: readonly Column<PreviewConstraint>[] = [
  {
    id: 'label',
    title: 'Row',
    width: 150,
    grow: 2,
    value: ({ label }) => rowWords(label),
    show: ({ label }) => <span title={label}>{rowWords(label)}</span>,
  },
  {
    id: 'binding',
    title: 'State',
    width: 80,
    value: ({ binding }) => Number(!binding),
    show: ({ binding }) => binding && <Badge kind="info">binding</Badge>,
  },
  {
    id: 'slack',
    title: 'Slack',
    width: 84,
    align: 'right',
    value: ({ slack }) => slack,
    show: ({ slack, unit }) => slackText(slack, unit),
  },
];

type Move = PreviewResponse['assets'][number];

const MOVES: readonly Column<Move>[] = [
  {
    id: 'name',
    title: 'Name',
    width: 80,
    grow: 1,
    value: ({ identifier }) => identifier,
    show: ({ identifier }) => <strong>{identifier}</strong>,
  },
  {
    id: 'index',
    title: 'Index',
    width: 76,
    align: 'right',
    value: (row) => row.source_weight,
    show: (row) => percent(row.source_weight),
  },
  {
    id: 'solved',
    title: 'Solved',
    width: 76,
    align: 'right',
    value: (row) => row.solved_weight,
    show: (row) => percent(row.solved_weight),
  },
  {
    id: 'delta',
    title: 'Active',
    width: 84,
    align: 'right',
    value: ({ weight_delta: delta }) => (delta === null ? null : Math.abs(delta)),
    show: ({ weight_delta: delta }) => signed(delta),
  },
];
