import type { RiskModelCollection, RiskModelRequest } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { Field } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Page, Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { Table } from '../../components/table/table.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import type { JobStatus } from '#clients/typescript/divisor.js';
import { useAddressedObject } from '../../state/addressed.js';
import { noteJob } from '../../state/live.js';
import { go, parameter, setParameters } from '../../state/place.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service, troubleOf, type Trouble } from '../../state/service.js';
import { riskModelAddress } from '../../words/addresses.js';
import { count, decimal } from '../../words/numbers.js';
import { ImportModel } from './import-model.js';
import '../designer/designer.css';

/** Covariances that are estimated once and used by their id. */
export function RiskModelsPage() {
  const models = useResource('risk models', (signal) => service.value.call('listRiskModels', { signal }));
  return (
    <Page
      title="Risk models"
      above={[{ address: '/console/optimise', text: 'Optimise' }]}
      subtitle="Estimated or imported covariances for optimisations, derived indices and risk measures"
    >
      <Answered resource={models} what="the risk models">
        {({ risk_models: all }) =>
          all.length === 0 ? (
            <EmptyState title="No risk model yet">
              Without a stored model, each optimisation estimates the covariance over the window that ends at its
              decision date.
            </EmptyState>
          ) : (
            <Table
              label="risk models"
              name="models"
              columns={COLUMNS}
              rows={all}
              keyOf={({ model_id: id }) => id}
              addressOf={({ model_id: id }) => riskModelAddress(id)}
              searchIn={({ model_id: id }) => id}
              height={420}
            />
          )
        }
      </Answered>
      {may('run') && <Estimate />}
      {may('write') && <ImportModel />}
    </Page>
  );
}

/** Settings that come first; the others are folded away. */
const FIRST = ['index_id', 'estimator', 'intensity_method', 'half_life', 'start', 'end'];
const OTHERS = ['target', 'intensity', 'threshold', 'lags', 'repair', 'returns', 'identifiers'];

function Estimate() {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const ids = indices.data?.indices.filter(({ has_run: hasRun }) => hasRun).map(({ id }) => id) ?? [];
  const id = parameter('id') ?? '';
  const setId = (typed: string) => setParameters({ id: typed === '' ? null : typed });
  const [asked, setAsked] = useAddressedObject('estimate', {});
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const estimate = async () => {
    setTrouble(null);
    try {
      const body = asked as unknown as RiskModelRequest; // The service reports errors in it.
      const job = await service.value.call('estimateRiskModel', { params: { model_id: id }, body });
      noteJob(job as unknown as JobStatus); // Every job's answer is a JobStatus.
      go(riskModelAddress(id));
    } catch (thrown) {
      setTrouble(troubleOf(thrown));
    }
  };
  const form = (names: readonly string[]) => (
    <SchemaForm
      schema="RiskModelRequest"
      names={names}
      changes={{ index_id: { label: 'Constituents of index', suggestions: ids }, identifiers: { label: 'Securities' } }}
      value={asked}
      findings={trouble?.findings ?? []}
      onChange={setAsked}
    />
  );
  return (
    <Section title="Estimate a model">
      <form
        class="designer-part"
        aria-label="Estimate a model"
        onSubmit={(event) => {
          event.preventDefault();
          void estimate();
        }}
      >
        <div class="field-grid is-joined">
          <Field
            spec={{
              name: 'model_id',
              label: 'Id',
              kind: 'text',
              isRequired: true,
              help: 'Replaces an existing model with this id.',
            }}
            value={id}
            findings={(trouble?.findings ?? []).filter(({ path }) => path === 'model_id')}
            onChange={(value) => setId(typeof value === 'string' ? value : '')}
          />
          {form(FIRST)}
        </div>
        <details>
          <summary>More settings</summary>
          {form(OTHERS)}
        </details>
        {trouble !== null && trouble.findings.length === 0 && <Problem trouble={trouble} />}
        <div class="form-actions">
          <Button kind="main" type="submit" disabled={id.trim() === ''}>
            Estimate
          </Button>
        </div>
      </form>
    </Section>
  );
}

const wordOf = (estimator: string): string => estimator.replaceAll('_', ' ');

type Row = RiskModelCollection['risk_models'][number];

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'id',
    title: 'Model',
    width: 120,
    grow: 2,
    value: ({ model_id: id }) => id,
    show: ({ model_id: id }) => <strong>{id}</strong>,
  },
  { id: 'estimator', title: 'Estimator', width: 120, grow: 1, value: ({ estimator }) => wordOf(estimator) },
  numeric({ id: 'names', title: 'Securities', width: 84, of: ({ assets }) => assets, write: count }),
  numeric({
    id: 'observations',
    title: 'Observations',
    help: 'Sessions used after dropping incomplete ones',
    width: 110,
    priority: 2,
    of: ({ observations }) => observations,
    write: count,
  }),
  numeric({
    id: 'correlation',
    title: 'Correlation',
    help: 'Mean of the pairs',
    width: 100,
    of: (row) => row.average_correlation,
    write: decimal,
  }),
  {
    id: 'definite',
    title: 'Definite',
    help: 'All eigenvalues are non-negative',
    width: 96,
    priority: 3,
    value: (row) => Number(row.positive_semi_definite),
    copy: (row) => (row.positive_semi_definite ? 'yes' : 'no'),
    show: (row) => (
      <Badge kind={row.positive_semi_definite ? 'good' : 'bad'}>{row.positive_semi_definite ? 'yes' : 'no'}</Badge>
    ),
  },
];
