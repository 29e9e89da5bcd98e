import type { RiskModelCollection } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { FormDialog } from '../../components/form-dialog.js';
import { Icon } from '../../components/icon.js';
import { Page } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatRiskModelAddress } from '../../words/addresses.js';
import { formatCount, formatDecimal, MISSING_TEXT } from '../../words/numbers.js';
import { EstimateModel } from './estimate-model.js';
import { ESTIMATORS } from './estimators.js';
import { ImportModel } from './import-model.js';
import { ComparedModels } from './compared-models.js';

/** Page of risk models. A risk model is a covariance that is estimated once; other documents refer to it by its id. */
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
                getKey={({ model_id: id }) => id}
                formatAddress={({ model_id: id }) => formatRiskModelAddress(id)}
                searchIn={({ model_id: id }) => id}
                height={420}
              />
              <ComparedModels all={all} />
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

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'id',
    title: 'Model',
    width: 160,
    grow: 2,
    value: ({ model_id: id }) => id,
    show: ({ model_id: id }) => <strong>{id}</strong>,
  },
  { id: 'estimator', title: 'Estimator', width: 120, grow: 2, value: ({ estimator }) => ESTIMATORS[estimator] },
  {
    id: 'period',
    title: 'Returns',
    help: 'First and last date of the returns; for an imported model, of the model',
    width: 190,
    priority: 1,
    value: ({ observed_start: start, observed_end: end, observations }) =>
      observations === 0 ? `as of ${end}` : `${start} to ${end}`,
  },
  {
    id: 'universe',
    title: 'Securities of',
    help: 'Index whose constituents were estimated',
    width: 110,
    priority: 2,
    value: ({ index_id: index, estimator }) => index ?? (estimator === 'imported' ? 'the file' : 'a list'),
  },
  createNumericColumn({ id: 'names', title: 'Securities', width: 84, of: ({ assets }) => assets, write: formatCount }),
  createNumericColumn({
    id: 'observations',
    title: 'Days',
    help: 'Daily returns used, without days on which a security has none',
    width: 76,
    priority: 4,
    of: ({ observations }) => (observations === 0 ? null : observations),
    write: (value) => (value === null ? MISSING_TEXT : formatCount(value)),
  }),
  createNumericColumn({
    id: 'correlation',
    title: 'Mean correlation',
    help: 'Mean of all pairs of securities',
    width: 130,
    priority: 3,
    of: (row) => row.average_correlation,
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'factors',
    title: 'Factors',
    width: 76,
    priority: 5,
    of: ({ factors }) => factors,
    write: formatCount,
  }),
  {
    id: 'definite',
    title: 'Valid',
    help: 'No portfolio has a negative variance: all eigenvalues are non-negative',
    width: 80,
    priority: 2,
    below: 'titled',
    value: (row) => Number(row.positive_semi_definite),
    copy: (row) => (row.positive_semi_definite ? 'yes' : 'no'),
    show: (row) => (
      <Badge kind={row.positive_semi_definite ? 'good' : 'bad'}>{row.positive_semi_definite ? 'yes' : 'no'}</Badge>
    ),
  },
];
