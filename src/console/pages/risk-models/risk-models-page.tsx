import type { RiskModelCollection } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { FormDialog } from '../../components/form-dialog.js';
import { Icon } from '../../components/icon.js';
import { Select } from '../../components/choice.js';
import { Page, Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/place.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatRiskModelAddress } from '../../words/addresses.js';
import { formatCount, formatDecimal } from '../../words/numbers.js';
import { EstimateModel } from './estimate-model.js';
import { ESTIMATORS } from './estimators.js';
import { ImportModel } from './import-model.js';
import { NAMES_MAX, ModelFigures } from './risk-model-page.js';

/** Page of risk models: covariances that are estimated once and referenced by id. */
export function RiskModelsPage() {
  const models = useResource('risk models', (signal) => service.value.call('listRiskModels', { signal }));
  const adding = getParameter('add');
  const close = () => setParameters({ add: null });
  return (
    <Page
      title="Risk models"
      above={[{ address: '/console/optimise', text: 'Optimise' }]}
      subtitle="Estimated or imported covariances for optimisations, derived indices and risk measures"
      actions={
        <>
          {may('write') && (
            <Button onClick={() => setParameters({ add: 'import' })}>
              <Icon name="upload" /> Import a model
            </Button>
          )}
          {may('run') && (
            <Button kind="main" onClick={() => setParameters({ add: 'estimate' })}>
              <Icon name="plus" /> Estimate a model
            </Button>
          )}
        </>
      }
    >
      <Answered resource={models} what="the risk models">
        {({ risk_models: all }) =>
          all.length === 0 ? (
            <EmptyState title="No risk model yet">
              Without a stored model, each optimisation estimates its own covariance from the returns before its
              decision date.
            </EmptyState>
          ) : (
            <>
              <Table
                label="risk models"
                name="models"
                columns={COLUMNS}
                rows={all}
                keyOf={({ model_id: id }) => id}
                addressOf={({ model_id: id }) => formatRiskModelAddress(id)}
                searchIn={({ model_id: id }) => id}
                height={420}
              />
              <Latest all={all} />
            </>
          )
        }
      </Answered>
      {adding === 'estimate' && may('run') && (
        <FormDialog title="Estimate a model" onClose={close}>
          <EstimateModel onCancel={close} />
        </FormDialog>
      )}
      {adding === 'import' && may('write') && (
        <FormDialog title="Import a model" onClose={close}>
          <ImportModel onCancel={close} />
        </FormDialog>
      )}
    </Page>
  );
}

type Row = RiskModelCollection['risk_models'][number];

/** Renders one of the models. Default: the first model that is small enough to display. */
function Latest({ all }: { readonly all: readonly Row[] }) {
  const small = all.filter(({ assets }) => assets <= NAMES_MAX);
  const shown = small.find(({ model_id: id }) => id === getParameter('model')) ?? small[0];
  const id = shown?.model_id;
  const model = useResource(
    id === undefined ? null : `risk model ${id}`,
    (signal) => service.value.call('getRiskModel', { params: { model_id: id! }, signal }), // requested only if there is an id
  );
  if (id === undefined) return null;
  return (
    <Section
      title={`Model ${id}`}
      aside={
        <>
          <Select
            label="Shown model"
            options={small.map(({ model_id: one }) => ({ value: one, text: one }))}
            value={id}
            onChoose={(chosen) => setParameters({ model: chosen, name: null })}
          />
          <a href={formatRiskModelAddress(id)}>Open</a>
        </>
      }
    >
      <Answered resource={model} what="the risk model">
        {(view) => <ModelFigures view={view} />}
      </Answered>
    </Section>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'id',
    title: 'Model',
    width: 120,
    grow: 2,
    value: ({ model_id: id }) => id,
    show: ({ model_id: id }) => <strong>{id}</strong>,
  },
  { id: 'estimator', title: 'Estimator', width: 120, grow: 2, value: ({ estimator }) => ESTIMATORS[estimator] },
  createNumericColumn({ id: 'names', title: 'Securities', width: 84, of: ({ assets }) => assets, write: formatCount }),
  createNumericColumn({
    id: 'observations',
    title: 'Observations',
    help: 'Sessions used after dropping incomplete ones',
    width: 110,
    priority: 4,
    of: ({ observations }) => observations,
    write: formatCount,
  }),
  createNumericColumn({
    id: 'correlation',
    title: 'Mean correlation',
    help: 'Mean of all pairs of securities',
    width: 130,
    priority: 2,
    of: (row) => row.average_correlation,
    write: formatDecimal,
  }),
  {
    id: 'definite',
    title: 'Valid',
    help: 'No portfolio has a negative variance: all eigenvalues are non-negative',
    width: 96,
    priority: 3,
    below: 'titled',
    value: (row) => Number(row.positive_semi_definite),
    copy: (row) => (row.positive_semi_definite ? 'yes' : 'no'),
    show: (row) => (
      <Badge kind={row.positive_semi_definite ? 'good' : 'bad'}>{row.positive_semi_definite ? 'yes' : 'no'}</Badge>
    ),
  },
];
