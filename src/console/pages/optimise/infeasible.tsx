import { useEffect, useState } from 'preact/hooks';
import type { RiskModelRequest } from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button } from '../../components/controls/button.js';
import { Banner } from '../../components/feedback.js';
import { createField } from '../../components/form/field-spec.js';
import { JobState } from '../../components/jobs.js';
import { type OnRefusal, submitJob } from '../../state/actions.js';
import { getJob } from '../../state/live.js';
import { formatAddress } from '../../state/location.js';
import { may, service, useList } from '../../state/service.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatQuantity } from '../../words/quantities.js';
import { createRowLabel, formatRow, parseRowLabel } from './bounds.js';

interface InfeasibleProps {
  readonly message: string;
  readonly detail: Readonly<Record<string, unknown>> | null;
  readonly rows: readonly JsonObject[];
  onRows(rows: readonly JsonObject[]): void;
}

/** Change of one constraint that makes the problem feasible. */
interface Remedy {
  readonly id: string;
  readonly index: number;
  readonly type: string;
  readonly parameter: string;
  readonly from: number;
  readonly to: number;
}

/** Row of a conflict. Rows that the request does not contain, such as full investment, have no index. */
interface ConflictRow {
  readonly label: string;
  readonly index: number | null;
}

export const listConflictPositions = (detail: InfeasibleProps['detail']): ReadonlySet<number> =>
  new Set(listConflictRows(detail).flatMap(({ index }) => index ?? []));

/**
 * Renders the constraints of an infeasible problem that contradict each other. Buttons relax one of them so that the
 * problem becomes feasible.
 */
export function Infeasible({ message, detail, rows, onRows }: InfeasibleProps) {
  const labels = listLabels(rows);
  const conflict = listConflictRows(detail);
  const remedies = listRemedies(detail, 'relaxations', rows);
  const all = listRemedies(detail, 'all_rows_relaxation', rows);
  const formatRemedy = useRemedyFormat(labels);
  const apply = (changes: readonly Remedy[]) => onRows(changes.reduce(applyRemedy, rows));
  const hasSubjects = conflict.some(({ label }) => parseRowLabel(label).subject !== null);
  return (
    <Banner kind="bad" title={formatConflict(conflict, labels) ?? message}>
      {hasSubjects && <p>Conflicting bounds: {conflict.map(({ label }) => formatRow(label, labels)).join('; ')}.</p>}
      {remedies.length > 0 && (
        <>
          <p>
            {remedies.length === 1
              ? 'This relaxation makes the problem feasible:'
              : 'Relaxing any one of these makes the problem feasible:'}
          </p>
          <ul class="pile gap-2 remedies">
            {remedies.map((remedy) => (
              <li key={`${remedy.index} ${remedy.parameter}`}>
                <RemedyText {...formatRemedy(remedy)} />
                <Button onClick={() => apply([remedy])}>Apply</Button>
              </li>
            ))}
          </ul>
        </>
      )}
      {all.length > 1 && (
        <p>
          Smallest combined relaxation:{' '}
          {all
            .map(formatRemedy)
            .map(({ constraint, parameter, to }) => `${constraint}, ${parameter} ${to}`)
            .join(', ')}{' '}
          <Button onClick={() => apply(all)}>Apply all</Button>
        </p>
      )}
      {conflict.length > 0 && (
        <details open={remedies.length === 0 && all.length === 0}>
          <summary>Details</summary>
          <p>{message}</p>
        </details>
      )}
    </Banner>
  );
}

/**
 * Renders the first relaxation of an infeasible problem in the bar of the folded solution. Without a relaxation, it
 * states the conflict.
 */
export function FoldedInfeasible({ message, detail, rows, onRows }: InfeasibleProps) {
  const labels = listLabels(rows);
  const formatRemedy = useRemedyFormat(labels);
  const [remedy] = listRemedies(detail, 'relaxations', rows);
  if (remedy === undefined)
    return (
      <span class="line spread gap-3 bar-remedy">{formatConflict(listConflictRows(detail), labels) ?? message}</span>
    );
  return (
    <span class="line spread gap-3 bar-remedy">
      <RemedyText {...formatRemedy(remedy)} />
      <Button onClick={() => onRows(applyRemedy(rows, remedy))}>Apply</Button>
    </span>
  );
}

interface FormattedRemedy {
  readonly constraint: string;
  readonly parameter: string;
  readonly from: string;
  readonly to: string;
}

const RemedyText = ({ constraint, parameter, from, to }: FormattedRemedy) => (
  <span>
    <strong>{constraint}</strong>, {parameter} from {from} to {to}
  </span>
);

/** Returns a function that formats a relaxation with the labels and units of the catalogue. */
function useRemedyFormat(labels: readonly string[]): (remedy: Remedy) => FormattedRemedy {
  const types = useList('constraint types', {
    follows: false,
  });
  return (remedy) => {
    const { type, parameter, from, to } = remedy;
    const spec = types.data?.specs.find((one) => one.type === type)?.parameters.find(({ name }) => name === parameter);
    const field = spec && createField(spec);
    return {
      constraint: formatRow(createRowLabel(remedy), labels),
      parameter: field?.label.toLowerCase() ?? parameter,
      from: formatQuantity(from, field?.unit),
      to: formatQuantity(to, field?.unit),
    };
  };
}

const CONJUNCTION = new Intl.ListFormat('en-GB', { type: 'conjunction' });

/**
 * States that constraints conflict, such as `Position bounds and full investment contradict each other.` Returns null
 * if the conflict is unknown.
 */
function formatConflict(conflict: readonly ConflictRow[], labels: readonly string[]): string | null {
  if (conflict.length === 0) return null;
  const names = [...new Set(conflict.map(({ label }) => parseRowLabel(label, labels).constraint))];
  if (names.length === 1) return `${names[0]}: no weights meet this constraint.`;
  const words = names.map((name, i) => (i === 0 ? name : `${name.charAt(0).toLowerCase()}${name.slice(1)}`));
  return `${CONJUNCTION.format(words)} contradict each other.`;
}

const listLabels = (rows: readonly JsonObject[]): readonly string[] =>
  rows.map(({ type, id }, index) =>
    createRowLabel({ type: String(type), id: typeof id === 'string' ? id : '', index }),
  );

const listConflictRows = (detail: InfeasibleProps['detail']): readonly ConflictRow[] =>
  listIn(detail, 'conflict') as readonly ConflictRow[];

/** Returns the relaxations of a list of the detail whose constraints still exist. */
const listRemedies = (detail: InfeasibleProps['detail'], name: string, rows: readonly JsonObject[]) =>
  (listIn(detail, name) as readonly Remedy[]).filter(({ index }) => rows[index] !== undefined).map(roundOutwards);

/** Number of significant digits of a relaxation. */
const DIGITS = 4;

/** Rounds a relaxation away from the original bound. The relaxed problem then stays feasible. */
function roundOutwards(remedy: Remedy): Remedy {
  const { from, to } = remedy;
  if (to === 0) return remedy;
  const step = 10 ** (Math.floor(Math.log10(Math.abs(to))) + 1 - DIGITS);
  const steps = to > from ? Math.ceil(to / step) : Math.floor(to / step);
  return { ...remedy, to: Number((steps * step).toPrecision(DIGITS)) };
}

function listIn(detail: InfeasibleProps['detail'], name: string): readonly unknown[] {
  const list = detail?.[name];
  return Array.isArray(list) ? list : [];
}

function applyRemedy(rows: readonly JsonObject[], { index, parameter, to }: Remedy): readonly JsonObject[] {
  return rows.map((row, i) => {
    if (i !== index) return row;
    const params: Json | undefined = row['params'];
    return { ...row, params: { ...(isObject(params) ? params : {}), [parameter]: to } };
  });
}

interface LookAheadProps {
  readonly message: string;
  /** Detail of the error: `model_id` and `decision_date`. */
  readonly detail: Readonly<Record<string, unknown>> | null;
  readonly indexId: string;
  /** Called with the id of the new model after it was estimated. */
  onModel(id: string): void;
}

/**
 * Renders the error that a risk model uses returns after the decision date. A button estimates a new model that ends on
 * that date.
 */
export function LookAhead({ message, detail, indexId, onModel }: LookAheadProps) {
  const [asked, setAsked] = useState<string | null>(null);
  const job = asked === null ? undefined : getJob(`risk:${asked}`);
  const isDone = job?.status === 'succeeded';
  useEffect(() => {
    if (isDone && asked !== null) onModel(asked);
  }, [isDone]);
  const modelId = String(detail?.['model_id']);
  const date = String(detail?.['decision_date']);
  const id = formatIdUpTo(modelId, date);
  const estimate = async (onRefusal: OnRefusal) => {
    const body = await requestUpTo(modelId, date, indexId);
    const params = { model_id: id };
    const startedJob = await submitJob(() => service.value.call('estimateRiskModel', { params, body }), onRefusal);
    if (startedJob !== undefined) setAsked(id);
  };
  const formAddress = formatAddress('/console/risk-models', {
    id,
    estimate: JSON.stringify({ index_id: indexId, end: date }),
  });
  return (
    <Banner
      kind="bad"
      title={message}
      action={may('run') && <ActionButton act={estimate}>{`Estimate up to ${date}`}</ActionButton>}
    >
      <p>
        A decision must not use returns after its date. The model {id} has the settings of {modelId} and ends on {date};{' '}
        <a href={formAddress}>other settings</a>.
      </p>
      {job !== undefined && <JobState job={job} />}
    </Banner>
  );
}

/** Maximum length of a document id. */
const ID_MAX = 64;

const formatIdUpTo = (model: string, date: string): string => `${model.slice(0, ID_MAX - date.length - 1)}-${date}`;

/**
 * Returns the request of the model with another end date. If the model was deleted, the securities come from the index.
 */
async function requestUpTo(model: string, end: string, indexId: string): Promise<RiskModelRequest> {
  const job = await service.value.call('getJob', { params: { job_id: `risk:${model}` } }).catch(() => null);
  const request = job?.request as Json | undefined;
  const storedRequest = isObject(request) ? request : { index_id: indexId };
  return { ...storedRequest, end } as unknown as RiskModelRequest; // the service validates the request
}
