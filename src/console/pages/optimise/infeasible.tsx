import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { createField } from '../../components/form/field-spec.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatQuantity } from '../../words/quantities.js';
import { createRowLabel, formatRow } from './row-labels.js';

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

/**
 * Renders the constraints of an infeasible problem that contradict each other. Buttons relax one of them so that the
 * problem becomes feasible.
 */
export function Infeasible({ message, detail, rows, onRows }: InfeasibleProps) {
  const conflict = listIn(detail, 'conflict') as readonly { readonly label: string }[];
  const listRemedies = (name: string) =>
    (listIn(detail, name) as readonly Remedy[]).filter(({ index }) => rows[index] !== undefined).map(roundOutwards);
  const remedies = listRemedies('relaxations');
  const all = listRemedies('all_rows_relaxation');
  const types = useResource('constraint types', (signal) => service.value.call('listConstraintTypes', { signal }), {
    follows: false,
  });
  const findField = ({ type, parameter }: Remedy) => {
    const spec = types.data?.specs.find((one) => one.type === type);
    const parameterSpec = spec?.parameters.find(({ name }) => name === parameter);
    return parameterSpec && createField(parameterSpec);
  };
  const findUnit = (remedy: Remedy) => findField(remedy)?.unit;
  const getName = (remedy: Remedy) => findField(remedy)?.label.toLowerCase() ?? remedy.parameter;
  const labels = rows.map(({ type, id }, index) =>
    createRowLabel({ type: String(type), id: typeof id === 'string' ? id : '', index }),
  );
  const apply = (changes: readonly Remedy[]) => onRows(changes.reduce(applyRemedy, rows));
  return (
    <Banner kind="bad" title={message}>
      {conflict.length > 0 && (
        <p>Conflicting constraints: {conflict.map(({ label }) => formatRow(label, labels)).join('; ')}.</p>
      )}
      {remedies.length > 0 && (
        <>
          <p>
            {remedies.length === 1
              ? 'This relaxation makes the problem feasible:'
              : 'Relaxing any one of these makes the problem feasible:'}
          </p>
          <ul class="remedies">
            {remedies.map((remedy) => (
              <li key={`${remedy.index} ${remedy.parameter}`}>
                <span>
                  <strong>{formatRow(createRowLabel(remedy), labels)}</strong>, {getName(remedy)} from{' '}
                  {formatQuantity(remedy.from, findUnit(remedy))} to {formatQuantity(remedy.to, findUnit(remedy))}
                </span>
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
            .map(
              (remedy) =>
                `${formatRow(createRowLabel(remedy), labels)}, ${getName(remedy)} ${formatQuantity(remedy.to, findUnit(remedy))}`,
            )
            .join(', ')}{' '}
          <Button onClick={() => apply(all)}>Apply all</Button>
        </p>
      )}
    </Banner>
  );
}

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
