import type { RiskModelCollection, RiskModelView } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Select } from '../../components/choice.js';
import { createNameColumns, labelWithName } from '../../components/name-column.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered, Wait } from '../../components/wait.js';
import { NamesStore, useNames } from '../../state/names.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { resolveStore, useStoredModels } from '../../state/risk-models.js';
import { service } from '../../state/service.js';
import { formatCount, formatPercent, formatPoints } from '../../words/numbers.js';
import { CorrelationMap } from './correlation-map.js';
import { computeEqualWeightVolatility } from './equal-weights.js';
import { ESTIMATORS } from './estimators.js';

type ModelSummary = RiskModelCollection['risk_models'][number];

/**
 * Maximum number of models that are compared, and maximum number of securities of each. The responses contain the
 * matrices.
 */
const MODELS_MAX = 4;
const SECURITIES_MAX = 200;

/** Renders the volatilities of the same securities in each model, and the correlations in one of the models. */
export function ComparedModels({ all }: { readonly all: readonly ModelSummary[] }) {
  const comparedModels = all.filter(({ assets }) => assets <= SECURITIES_MAX).slice(0, MODELS_MAX);
  const ids = comparedModels.map(({ model_id: id }) => id);
  const views = useResource(ids.length === 0 ? null : `risk models ${ids.join(' ')}`, (signal) =>
    Promise.all(ids.map((id) => service.value.call('getRiskModel', { params: { model_id: id }, signal }))),
  );
  if (ids.length === 0) return null;
  const omittedIds = all.map(({ model_id: id }) => id).filter((id) => !ids.includes(id));
  return (
    <>
      {omittedIds.length > 0 && (
        <p class="quiet">
          Not compared: {omittedIds.join(', ')}. At most {MODELS_MAX} models of at most {SECURITIES_MAX} securities are
          compared.
        </p>
      )}
      <Answered resource={views} what="the risk models">
        {(known) => <ComparedByStore views={known} summaries={comparedModels} />}
      </Answered>
    </>
  );
}

interface ComparisonProps {
  readonly views: readonly RiskModelView[];
  readonly summaries: readonly ModelSummary[];
}

/** Renders one comparison per data store. Equal tickers of different stores are different securities. */
function ComparedByStore({ views, summaries }: ComparisonProps) {
  const models = useStoredModels();
  const findStoreOf = (id: string) => resolveStore(models.find(({ model }) => model.model_id === id)?.store ?? null);
  const stores = [...new Set(views.map((view) => findStoreOf(view.model_id)))];
  if (models.length === 0) return <Wait what="the data stores of the models" />;
  return (
    <>
      {stores.map((store) => (
        <NamesStore.Provider key={store} value={store}>
          <Comparison
            views={views.filter((view) => findStoreOf(view.model_id) === store)}
            summaries={summaries}
            store={stores.length > 1 ? store : null}
          />
        </NamesStore.Provider>
      ))}
    </>
  );
}

interface StoreComparisonProps extends ComparisonProps {
  /** Data store of the models; null if all models are of one store. */
  readonly store: string | null;
}

function Comparison({ views, summaries, store }: StoreComparisonProps) {
  const ofStore = store === null ? '' : ` on ${store}`;
  const securities = useMemo(() => [...new Set(views.flatMap((view) => view.asset_ids))].toSorted(), [views]);
  const commonIds = securities.filter((id) => views.every((view) => id in view.volatilities));
  const rows = (commonIds.length === 0 ? securities : commonIds).map((identifier) => ({ identifier }));
  const end = views
    .map((view) => view.observed_end)
    .toSorted()
    .at(-1);
  const facts = useNames(securities, end);
  const columns = useMemo(
    () => [...createNameColumns(facts), ...views.map((view) => createModelColumn(view, summaries))],
    [facts, views, summaries],
  );
  const shownView = views.find((view) => view.model_id === getParameter('model')) ?? views[0]!; // at least one model
  return (
    <div class="side-by-side">
      <div class="notes">
        {commonIds.length > 1 && (
          <Section
            title="Volatility of an equally weighted portfolio"
            aside={`per year, ${formatCount(commonIds.length)} ${views.length > 1 ? 'common ' : ''}securities${ofStore}`}
          >
            <EqualWeights
              label={`Volatility of an equally weighted portfolio by model${ofStore}`}
              name={store === null ? 'equal-weights' : `equal-weights-${store}`}
              views={views}
              ids={commonIds}
            />
          </Section>
        )}
        <Section title={`Volatilities by model${ofStore}`} aside="per year">
          <Table
            label={`volatilities by model${ofStore}`}
            name={store === null ? 'compared-vols' : `compared-vols-${store}`}
            columns={columns}
            rows={rows}
            getKey={({ identifier }) => identifier}
            searchIn={({ identifier }) => labelWithName(identifier, facts)}
            sort={{ column: views[0]!.model_id, direction: 'desc' }}
            height={360}
          />
        </Section>
      </div>
      <CorrelationMap
        view={shownView}
        chosen={shownView.asset_ids.find((id) => id === getParameter('name'))}
        choice={
          <Select
            label="Shown model"
            options={views.map(({ model_id: id }) => ({ value: id, text: id }))}
            value={shownView.model_id}
            onChoose={(chosen) => setParameters({ model: chosen, name: null })}
          />
        }
      />
    </div>
  );
}

interface EqualWeightsProps {
  readonly label: string;
  /** Name under which the arrangement of the table is kept. */
  readonly name: string;
  readonly views: readonly RiskModelView[];
  /** Securities of the portfolio. */
  readonly ids: readonly string[];
}

interface ModelVolatility {
  readonly id: string;
  readonly volatility: number;
}

/** Renders the volatility of an equally weighted portfolio in each model, with the difference to the first model. */
function EqualWeights({ label, name, views, ids }: EqualWeightsProps) {
  const rows = views.map((view): ModelVolatility => ({
    id: view.model_id,
    volatility: computeEqualWeightVolatility(view, ids),
  }));
  const first = rows[0]!; // at least one model
  const columns: readonly Column<ModelVolatility>[] = [
    { id: 'model', title: 'Model', width: 140, grow: 1, value: ({ id }) => id },
    createNumericColumn({
      id: 'volatility',
      title: 'Volatility',
      width: 90,
      of: ({ volatility }) => volatility,
      write: formatPercent,
    }),
    ...(rows.length === 1
      ? []
      : [
          createNumericColumn<ModelVolatility>({
            id: 'difference',
            title: 'Difference',
            help: `To ${first.id}, in percentage points`,
            width: 100,
            of: (row) => (row === first ? null : row.volatility - first.volatility),
            write: formatPoints,
          }),
        ]),
  ];
  return <Table label={label} name={name} columns={columns} rows={rows} getKey={({ id }) => id} height={200} />;
}

interface ComparedSecurity {
  readonly identifier: string;
}

const createModelColumn = (
  { model_id: id, volatilities, observed_start: start, observed_end: end }: RiskModelView,
  summaries: readonly ModelSummary[],
): Column<ComparedSecurity> => {
  const estimator = summaries.find((summary) => summary.model_id === id)?.estimator;
  return createNumericColumn({
    id,
    title: id,
    help: `${estimator === undefined ? '' : `${ESTIMATORS[estimator]}, `}${start} to ${end}`,
    width: 96,
    of: ({ identifier }) => volatilities[identifier] ?? null,
    write: formatPercent,
  });
};
