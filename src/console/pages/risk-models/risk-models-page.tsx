import './correlation-map.css';
import { type ComponentChildren, Fragment } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type {
  JobStatus,
  Operations,
  RiskModelCollection,
  RiskModelImportInput,
  RiskModelRequest,
  RiskModelSummary,
  RiskModelView,
} from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import { Select } from '../../components/controls/choice.js';
import { Answered, Badge, Findings, Problem, Wait } from '../../components/feedback.js';
import { Field } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { JobState } from '../../components/jobs.js';
import { Bars } from '../../components/layout/bars.js';
import { DeleteButton, FormDialog } from '../../components/layout/dialog.js';
import { Facts, Metrics } from '../../components/layout/facts.js';
import { Page, Section, useWidth } from '../../components/layout/page.js';
import { createRegisterPage } from '../../components/register.js';
import { createNameColumns, labelWithName, nameColumn } from '../../components/securities.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { tryAction, submitJob } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { getJob, storeJob } from '../../state/live.js';
import {
  formatAddress,
  getParameter,
  navigate,
  type PageProps,
  setParameters,
  useAddressedObject,
} from '../../state/location.js';
import { type NameFacts, NamesStore, useNames } from '../../state/market.js';
import { resolveStore, useStoredModels } from '../../state/risk-models.js';
import {
  createTrouble,
  mapResource,
  may,
  notifyChange,
  service,
  type Trouble,
  useAnswer,
  useList,
  useResource,
} from '../../state/service.js';
import { formatIndexAddress, formatRiskModelAddress, formatSecurityAddress } from '../../words/addresses.js';
import {
  countValues,
  formatCount,
  formatDecimal,
  formatFigure,
  formatPercent,
  formatPoints,
  MISSING_TEXT,
} from '../../words/numbers.js';
import { formatCompact } from '../../words/quantities.js';
import { shade } from '../../state/appearance.js';

/**
 * Maximum number of securities for which the matrix is shown. A larger matrix has several megabytes; it can be
 * downloaded as Arrow.
 */
export const NAMES_MAX = 500;
/** Maximum number of most and least correlated securities shown. */
const PARTNERS_MAX = 12;

/** Page of one risk model: its inputs, its quality and its correlations. */
export function RiskModelPage({ params }: PageProps) {
  const id = params['id']!; // the route has this parameter
  const job = getJob(`risk:${id}`);
  const models = useList('risk models');
  const assets = models.data?.risk_models.find(({ model_id: modelId }) => modelId === id)?.assets;
  const isWaited = models.data === undefined || (assets === undefined && isUnderWay(job?.status));
  const model = useAnswer('getRiskModel', isWaited || (assets ?? 0) > NAMES_MAX ? null : { params: { model_id: id } });
  return (
    <Page
      title={id}
      above={[
        { address: '/console/optimise', text: 'Optimise' },
        { address: '/console/risk-models', text: 'Risk models' },
      ]}
      actions={assets !== undefined && <Actions id={id} isBusy={isUnderWay(job?.status)} />}
    >
      {job !== undefined && <JobState job={job} />}
      {assets !== undefined && assets > NAMES_MAX && (
        <p>
          {formatCount(assets)} securities: too many for a page.{' '}
          <Button onClick={() => void download(id)}>Download the covariance as Arrow</Button>
        </p>
      )}
      {models.data === undefined && models.trouble === null && <Wait what="the risk model" />}
      <Answered resource={model} what="the risk model">
        {(view) => <ModelFigures view={view} />}
      </Answered>
      {models.trouble !== null && <Problem trouble={models.trouble} />}
    </Page>
  );
}

const isUnderWay = (status: string | undefined): boolean => status === 'pending' || status === 'running';

const ARROW_MEDIA = 'application/vnd.apache.arrow.stream';

const download = (id: string) =>
  tryAction(async () => {
    saveFile(`${id}.arrow`, await service.value.download('getRiskModel', ARROW_MEDIA, { params: { model_id: id } }));
  });

function Actions({ id, isBusy }: { readonly id: string; readonly isBusy: boolean }) {
  const params = { model_id: id };
  const remove = () =>
    tryAction(async () => {
      await service.value.call('deleteRiskModel', { params });
      notifyChange();
      navigate('/console/risk-models');
    });
  return (
    <>
      <LinkButton href={formatAddress('/console/optimise', { terms: JSON.stringify({ risk_model: id }) })}>
        Optimise with it
      </LinkButton>
      {may('run') && (
        <ActionButton
          disabled={isBusy}
          act={(onRefusal) => submitJob(() => service.value.call('estimateRiskModel', { params }), onRefusal)}
        >
          Estimate again
        </ActionButton>
      )}
      {may('write') && (
        <DeleteButton subject={id} onConfirm={() => void remove()}>
          <p>Derived indices that use it can no longer be run.</p>
        </DeleteButton>
      )}
    </>
  );
}

interface Name {
  readonly identifier: string;
  readonly volatility: number;
}

export function ModelFigures({ view }: { readonly view: RiskModelView }) {
  const { asset_ids: names, volatilities } = view;
  const rows = names.map((identifier): Name => ({ identifier, volatility: volatilities[identifier] ?? 0 }));
  // First row of the table. It is selected at first.
  const [first] = rows.toSorted((a, b) => b.volatility - a.volatility);
  const chosenName = names.find((name) => name === getParameter('name')) ?? first?.identifier;
  const facts = useNames(names, view.observed_end ?? undefined, useModelStore(view.model_id));
  const columns = useMemo(() => [nameColumn(facts), VOLATILITY], [facts]);
  return (
    <>
      <Figures view={view} />
      {view.findings.length > 0 && <Findings findings={view.findings} />}
      <div class="pile gap-5 side-by-side">
        <div class="pile gap-2 notes">
          <Section title="Volatilities" aside="annualised">
            <Table
              label="volatilities of the model"
              name="vols"
              columns={columns}
              rows={rows}
              getKey={({ identifier }) => identifier}
              openKey={chosenName ?? null}
              onOpen={({ identifier }) => setParameters({ name: identifier })}
              searchIn={({ identifier }) => labelWithName(identifier, facts)}
              sort={{ column: 'volatility', direction: 'desc' }}
              height={260}
            />
          </Section>
          {chosenName !== undefined && <Partners view={view} name={chosenName} facts={facts} />}
        </div>
        <CorrelationMap view={view} chosen={chosenName} />
      </div>
      <Facts facts={[['Content', <code title={view.content_hash}>{view.content_hash.slice(0, 16)}…</code>]]} />
    </>
  );
}

function Figures({ view }: { readonly view: RiskModelView }) {
  const { diagnostics, excluded, imported, observed_start: from, observed_end: to } = view;
  const left = Object.entries(excluded);
  const index = useModelIndex(view.model_id);
  return (
    <>
      <Metrics
        label="Figures of the model"
        metrics={[
          {
            term: 'Securities',
            value: formatCount(diagnostics.assets),
            note: index && <IndexNote id={index} />,
          },
          imported === undefined
            ? { term: 'Daily returns', value: formatCount(diagnostics.observations), note: `${from} to ${to}` }
            : {
                term: 'Dates',
                value: formatCount(imported.dates.length),
                note: from === to ? from : `${from} to ${to}`,
              },
          {
            term: 'Volatility of equal weights',
            value: formatPercent(computeEqualWeightVolatility(view, view.asset_ids)),
            note: 'per year',
          },
          { term: 'Mean correlation', value: formatDecimal(diagnostics.average_correlation) },
          {
            term: 'Condition number',
            value: formatCondition(diagnostics.condition_number),
            help: 'Largest over smallest eigenvalue: how much errors of the estimate are amplified',
          },
          {
            term: 'Shrinkage',
            value: diagnostics.target === 'none' ? '–' : formatPercent(diagnostics.intensity),
            help: 'Weight on the target; 0 is the sample covariance',
            note: diagnostics.target === null ? undefined : `towards ${diagnostics.target.replaceAll('_', ' ')}`,
          },
          {
            term: 'Smallest eigenvalue',
            value: formatFigure(diagnostics.smallest_eigenvalue),
            help: 'Negative if a portfolio has a negative variance',
            note: `${diagnostics.positive_semi_definite ? '' : 'not '}positive semi-definite${diagnostics.repaired ? ', repaired' : ''}`,
            ...(diagnostics.positive_semi_definite ? {} : { kind: 'down' }),
          },
        ]}
      />
      {left.length > 0 && (
        <details class="excluded">
          <summary>
            {countValues(left.length, 'security', 'securities')} excluded: {left.map(([name]) => name).join(', ')}
          </summary>
          <Facts facts={left} />
        </details>
      )}
    </>
  );
}

/** Condition number from which the matrix counts as having no inverse. */
const NO_INVERSE = 1e300;

const formatCondition = (value: number): string => (value >= NO_INVERSE ? 'no inverse' : formatCompact(value));

/** Renders the securities that are most and least correlated with a security. */
function Partners({
  view: { model_id: model, asset_ids: names, correlation },
  name,
  facts,
}: {
  readonly view: RiskModelView;
  readonly name: string;
  readonly facts: ReadonlyMap<string, NameFacts>;
}) {
  const store = useModelStore(model);
  const row = correlation?.data[names.indexOf(name)] ?? [];
  const all = names
    .map((identifier, k) => ({ identifier, label: labelWithName(identifier, facts), value: Number(row[k]) }))
    .filter(({ identifier }) => identifier !== name)
    .toSorted((a, b) => b.value - a.value);
  const isWhole = all.length <= PARTNERS_MAX;
  const ends = [all[0], all.at(-1)].flatMap((partner) => (partner === undefined ? [] : [partner.value]));
  const parts = isWhole
    ? [{ label: 'Highest first', bars: all }]
    : [
        { label: `${PARTNERS_MAX / 2} highest of ${all.length}`, bars: all.slice(0, PARTNERS_MAX / 2) },
        { label: `${PARTNERS_MAX / 2} lowest of ${all.length}`, bars: all.slice(-PARTNERS_MAX / 2) },
      ];
  return (
    <Section title={`Correlations with ${name}`} aside={<a href={formatSecurityAddress(name, store)}>{name}</a>}>
      {parts.map(({ label, bars }) => (
        <Fragment key={label}>
          <p class="quiet">{label}</p>
          <Bars
            label={`Correlations with ${name}: ${label}`}
            bars={bars}
            format={(value) => formatDecimal(value)}
            covers={ends}
            isPlain
          />
        </Fragment>
      ))}
    </Section>
  );
}

const IndexNote = ({ id }: { readonly id: string }) => (
  <>
    of <a href={formatIndexAddress(id)}>{id}</a>
  </>
);

/** Returns the index from which a model took its securities. Returns undefined for a list or an imported model. */
function useModelIndex(model: string): string | undefined {
  const models = useList('risk models');
  return models.data?.risk_models.find(({ model_id: id }) => id === model)?.index_id ?? undefined;
}

/** Returns the store of the index of a model. Returns undefined for the served store. */
const useModelStore = (model: string): string | undefined =>
  useStoredModels().find((one) => one.model.model_id === model)?.store ?? undefined;

const VOLATILITY: Column<Name> = {
  id: 'volatility',
  title: 'Volatility',
  width: 100,
  write: formatPercent,
};

type Source = RiskModelSummary['estimator'];

const ESTIMATORS: Readonly<Record<Source, string>> = {
  shrinkage: 'Shrinkage towards a target',
  nonlinear: 'Nonlinear shrinkage (Ledoit and Wolf)',
  gerber: 'Gerber statistic',
  denoised: 'Denoised correlations',
  newey_west: 'Newey and West',
  statistical: 'Statistical factors',
  industries: 'Market and industry factors',
  styles: 'Market, industry and style factors',
  imported: 'Imported',
};

/** Description of the method and purpose of each estimator. */
const ESTIMATOR_HELP: Readonly<Record<Exclude<Source, 'imported'>, string>> = {
  shrinkage: 'A sample covariance moved towards a simple target. A good first choice.',
  nonlinear: 'Shrinks each eigenvalue separately. Suitable for many securities with few observations.',
  gerber: 'Counts joint moves beyond a threshold. Robust against outliers.',
  denoised: 'Replaces the eigenvalues that noise alone would produce by their mean.',
  newey_west: 'Recent observations count more, and returns of neighbouring days may be correlated.',
  statistical: 'Principal components as factors, with specific risk for each security.',
  industries: 'The market and sectors as factors, with specific risk for each security.',
  styles: 'The market, sectors, size, value, momentum, volatility, liquidity, quality and dividend as factors.',
};

/**
 * Settings by name, with the estimators that use them. Settings for securities and dates are left out, because all
 * estimators use them.
 */
const SETTINGS: Readonly<Record<string, readonly Source[]>> = {
  target: ['shrinkage'],
  intensity_method: ['shrinkage'],
  intensity: ['shrinkage'],
  factors: ['statistical'],
  threshold: ['gerber'],
  lags: ['newey_west'],
  half_life: ['shrinkage', 'newey_west', 'industries', 'styles'],
  eigenvalue_simulations: ['newey_west', 'industries', 'styles'],
};

const listSettings = (estimator: Source): readonly string[] =>
  Object.entries(SETTINGS).flatMap(([name, users]) => (users.includes(estimator) ? name : []));

/**
 * Help texts of the settings. They name no estimators, because the form shows only the settings of the selected one.
 */
const SETTING_HELP: Readonly<Record<string, string>> = {
  target: 'Simple covariance towards which the sample covariance is moved.',
  intensity_method: 'How far it is moved, if no intensity is given.',
  intensity: 'Weight of the target, from 0 to 1; 0 is the sample covariance. Empty: by the method.',
  factors: 'Number of principal components.',
  threshold: 'Size of a joint move, in standard deviations.',
  lags: 'Number of earlier days whose correlation is considered.',
  half_life: 'Sessions after which an observation counts half. Empty: all count the same.',
  eigenvalue_simulations: 'Samples that correct the bias of small eigenvalues; 200 suffice. Empty: no correction.',
};

type ModelSummary = RiskModelCollection['risk_models'][number];

/**
 * Maximum number of models that are compared, and maximum number of securities of each. The responses contain the
 * matrices.
 */
const MODELS_MAX = 4;
const SECURITIES_MAX = 200;

/** Renders the volatilities of the same securities in each model, and the correlations in one of the models. */
function ComparedModels({ all }: { readonly all: readonly ModelSummary[] }) {
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
    <div class="pile gap-5 side-by-side">
      <div class="pile gap-2 notes">
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
  const columns: Column<ModelVolatility>[] = [
    { id: 'model', title: 'Model', width: 140, grow: 1, value: ({ id }) => id },
    { id: 'volatility', title: 'Volatility', width: 90, write: formatPercent },
  ];
  if (rows.length > 1)
    columns.push({
      id: 'difference',
      title: 'Difference',
      help: `To ${first.id}, in percentage points`,
      width: 100,
      value: (row) => (row === first ? null : row.volatility - first.volatility),
      write: formatPoints,
    });
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
  return {
    id,
    title: id,
    help: `${estimator === undefined ? '' : `${ESTIMATORS[estimator]}, `}${start} to ${end}`,
    width: 96,
    value: ({ identifier }) => volatilities[identifier] ?? null,
    write: formatPercent,
  };
};

const CHOICE_PHRASES = {
  target: { constant_correlation: 'equal correlations', scaled_identity: 'no correlations' },
  intensity_method: { shape: 'by securities and observations', ledoit_wolf: 'Ledoit and Wolf' },
};

/** Settings that are folded. Few models need them. */
const OTHER_FIELDS = ['returns', 'repair', 'identifiers'];

/** Renders the form of a new risk model. It contains only the settings of the selected estimator. */
function EstimateModel({ onCancel }: { readonly onCancel: () => void }) {
  const indices = useList('indices');
  const ids = indices.data?.indices.filter(({ has_run: hasRun }) => hasRun).map(({ id }) => id) ?? [];
  const id = getParameter('id') ?? '';
  const setId = (typed: string) => setParameters({ id: typed === '' ? null : typed });
  const [asked, setAsked] = useAddressedObject('estimate', {});
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const { estimator = 'shrinkage' } = asked as unknown as RiskModelRequest; // the service validates the value
  const estimate = async () => {
    setTrouble(null);
    try {
      const body = asked as unknown as RiskModelRequest; // the service validates the request
      const job = await service.value.call('estimateRiskModel', { params: { model_id: id }, body });
      storeJob(job as unknown as JobStatus); // the response is a job status
      navigate(formatRiskModelAddress(id));
    } catch (thrown) {
      setTrouble(createTrouble(thrown));
    }
  };
  const settings = Object.fromEntries(Object.entries(SETTING_HELP).map(([name, help]) => [name, { help }]));
  const renderForm = (names: readonly string[]) => (
    <SchemaForm
      schema="RiskModelRequest"
      names={names}
      changes={{
        ...settings,
        index_id: {
          label: 'Constituents of index',
          suggestions: ids,
          help: 'Securities held at the end of the latest run of this index.',
        },
        identifiers: { label: 'Securities', help: 'Instead of the constituents of an index.' },
        estimator: { words: ESTIMATORS, help: ESTIMATOR_HELP[estimator] },
        intensity_method: { ...settings['intensity_method'], words: CHOICE_PHRASES.intensity_method },
        target: { ...settings['target'], words: CHOICE_PHRASES.target },
        returns: { words: { total: 'total returns, with dividends', price: 'price returns' }, help: null },
      }}
      value={asked}
      findings={trouble?.findings ?? []}
      onChange={(next) => setAsked(removeUnusedSettings(next))}
    />
  );
  return (
    <form
      aria-label="Estimate a model"
      onSubmit={(event) => {
        event.preventDefault();
        void estimate();
      }}
    >
      <div class="pile field-grid is-joined">
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
        {renderForm(['index_id', 'estimator', ...listSettings(estimator), 'start', 'end'])}
      </div>
      <details>
        <summary>More settings</summary>
        {renderForm(OTHER_FIELDS)}
      </details>
      {trouble !== null && trouble.findings.length === 0 && <Problem trouble={trouble} />}
      <div class="gap-2 dialog-actions">
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="main" type="submit" disabled={id.trim() === ''}>
          Estimate
        </Button>
      </div>
    </form>
  );
}

/** Removes settings from a request that its estimator ignores. */
function removeUnusedSettings<R extends Readonly<Record<string, unknown>>>(request: R): R {
  const { estimator = 'shrinkage' } = request as unknown as RiskModelRequest; // the service validates the value
  const usedSettings = listSettings(estimator);
  return Object.fromEntries(
    Object.entries(request).filter(([name]) => !(name in SETTING_HELP) || usedSettings.includes(name)),
  ) as R; // only optional members are removed
}

type ImportQuery = Operations['importRiskModel']['request']['query'];

/** Media types by file extension. A JSON file contains all terms of the import. */
const MEDIA: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  arrow: 'application/vnd.apache.arrow.stream',
};

const FIELD_CHANGES = {
  units: { words: { annual: 'per year', daily: 'per session' }, help: 'Period of the variances in the file.' },
  annualisation: { label: 'Sessions of a year', help: 'Factor from values per session to values per year.' },
};

function ImportModel({ onCancel }: { readonly onCancel: () => void }) {
  const input = useRef<HTMLInputElement>(null);
  const id = getParameter('import') ?? '';
  const [terms, setTerms] = useAddressedObject('terms', { units: 'annual' });
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const send = async (file: File) => {
    setTrouble(null);
    try {
      await sendModel(id, file, terms as ImportQuery); // the service validates the terms
      navigate(formatRiskModelAddress(id));
    } catch (thrown) {
      setTrouble(createTrouble(thrown));
    }
  };
  return (
    <form aria-label="Import a model" onSubmit={(event) => event.preventDefault()}>
      <p class="quiet">
        Covariances or a factor model, as JSON, CSV or Arrow. Units, sessions and repair apply to CSV and Arrow; a JSON
        file contains them.
      </p>
      <div class="pile field-grid is-joined">
        <Field
          spec={{
            name: 'imported_id',
            label: 'Id of the import',
            kind: 'text',
            isRequired: true,
            help: 'Replaces an existing model with this id.',
          }}
          value={id}
          findings={[]}
          onChange={(value) => setParameters({ import: typeof value === 'string' && value !== '' ? value : null })}
        />
        <Field
          spec={{ name: 'date', label: 'Date', kind: 'date', help: 'Of a file without a column date.' }}
          value={terms['date']}
          findings={[]}
          onChange={(value) => {
            const { date: _, ...others } = terms;
            setTerms(value === undefined ? others : { ...terms, date: value });
          }}
        />
        <SchemaForm
          schema="RiskModelImport"
          names={['units', 'annualisation', 'repair']}
          changes={FIELD_CHANGES}
          value={terms}
          findings={trouble?.findings ?? []}
          onChange={setTerms}
        />
      </div>
      {trouble !== null &&
        (trouble.findings.length === 0 ? <Problem trouble={trouble} /> : <Findings findings={trouble.findings} />)}
      <input
        ref={input}
        hidden
        type="file"
        accept=".json,.csv,.arrow"
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? [];
          event.currentTarget.value = '';
          if (file !== undefined) void send(file);
        }}
      />
      <div class="gap-2 dialog-actions">
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="main" disabled={id === ''} onClick={() => input.current?.click()}>
          Choose a file
        </Button>
      </div>
    </form>
  );
}

async function sendModel(modelId: string, file: File, query: ImportQuery): Promise<void> {
  const params = { model_id: modelId };
  const media = MEDIA[file.name.split('.').at(-1)!.toLowerCase()]; // `split` returns at least one part
  if (media === undefined) {
    const body = JSON.parse(await file.text()) as RiskModelImportInput; // the service validates the file
    await service.value.call('importRiskModel', { params, body });
  } else await service.value.upload('importRiskModel', media, file, { params, query });
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
  { id: 'names', title: 'Securities', width: 84, value: ({ assets }) => assets, write: formatCount },
  {
    id: 'observations',
    title: 'Days',
    help: 'Daily returns used, without days on which a security has none',
    width: 76,
    priority: 4,
    value: ({ observations }) => (observations === 0 ? null : observations),
    write: (value) => (value === null ? MISSING_TEXT : formatCount(value)),
  },
  {
    id: 'correlation',
    title: 'Mean correlation',
    help: 'Mean of all pairs of securities',
    width: 130,
    priority: 3,
    value: (row) => row.average_correlation,
    write: formatDecimal,
  },
  { id: 'factors', title: 'Factors', width: 76, priority: 5, write: formatCount },
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

/** Page of risk models. A risk model is a covariance that is estimated once; other documents refer to it by its id. */
export const RiskModelsPage = createRegisterPage<Row>({
  title: 'Risk models',
  name: 'models',
  label: 'risk models',
  above: [{ address: '/console/optimise', text: 'Optimise' }],
  subtitle: () => 'Estimated or imported covariances for optimisations, derived indices and risk measures',
  actions: () => (
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
  ),
  useRows: () => mapResource(useList('risk models'), ({ risk_models: all }) => all),
  columns: COLUMNS,
  height: 420,
  empty: {
    title: 'No risk model yet',
    text: 'Without a stored model, each optimisation estimates its own covariance from the returns before its decision date.',
  },
  getKey: ({ model_id: id }) => id,
  formatAddress: ({ model_id: id }) => formatRiskModelAddress(id),
  searchIn: ({ model_id: id }) => id,
  renderBelow: (all) => all.length > 0 && <ComparedModels all={all} />,
  renderFoot: () => <AddDialog />,
});

function AddDialog() {
  const adding = getParameter('add');
  const close = () => setParameters({ add: null });
  return (
    <>
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
    </>
  );
}

interface CorrelationMapProps {
  readonly view: RiskModelView;
  /** Security whose row and column are highlighted. */
  readonly chosen: string | undefined;
  /** Control next to the heading. Default: an explanation. */
  readonly choice?: ComponentChildren;
}

/**
 * Renders all correlations as a map of colours. Similar securities are next to each other. A click selects a security.
 */
function CorrelationMap({ view: { asset_ids: names, correlation }, chosen, choice }: CorrelationMapProps) {
  const matrix = correlation?.data as readonly (readonly number[])[] | undefined; // the matrix contains only numbers
  const order = useMemo(() => (matrix === undefined ? [] : computeOrder(matrix)), [matrix]);
  const range = useMemo(() => (matrix === undefined ? NO_RANGE : createRange(matrix)), [matrix]);
  const [at, setAt] = useState<readonly [number, number] | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const cells = useRef<HTMLDivElement>(null);
  const width = useWidth(cells);
  const swatches = useRef<HTMLParagraphElement>(null);
  const theme = shade.value;
  useLayoutEffect(() => {
    if (matrix !== undefined) paint(canvas.current!, swatches.current!, { matrix, order, strongest: range.limit });
  }, [matrix, order, range, theme]);
  if (matrix === undefined || names.length < 2) return null;
  const findCell = (event: MouseEvent): readonly [number, number] => {
    const { left, top, width, height } = canvas.current!.getBoundingClientRect(); // the canvas exists before any mouse event
    const computeCell = (offset: number, size: number) =>
      order[Math.max(0, Math.min(names.length - 1, Math.floor((offset / size) * names.length)))]!;
    return [computeCell(event.clientY - top, height), computeCell(event.clientX - left, width)];
  };
  const framedPosition = chosen === undefined ? -1 : order.indexOf(names.indexOf(chosen));
  const share = 100 / names.length;
  // If rows are lower than a line of text, only some names are drawn. The name of the framed row is always drawn.
  const interval = Math.max(1, Math.ceil((LINE_HEIGHT * names.length) / width));
  const isNamed = (row: number) =>
    row === framedPosition || (row % interval === 0 && Math.abs(row - framedPosition) >= interval);
  return (
    <Section title="Correlations" aside={choice ?? 'similar securities next to each other'}>
      <div class="gap-2 correlation-map">
        {names.length <= NAMED_MAX && (
          <ol class="second one-line bare-list correlation-names" aria-hidden="true">
            {order.map((at, row) => (
              <li key={at} class={row === framedPosition ? 'is-framed' : undefined}>
                {isNamed(row) && names[at]}
              </li>
            ))}
          </ol>
        )}
        <div class="correlation-cells" ref={cells}>
          <canvas
            ref={canvas}
            width={names.length}
            height={names.length}
            role="img"
            aria-label={`Correlations of ${names.length} securities, from ${formatDecimal(range.least)} to ${formatDecimal(range.most)}`}
            onPointerMove={(event) => setAt(findCell(event))}
            onPointerLeave={() => setAt(null)}
            onClick={(event) => setParameters({ name: names[findCell(event)[0]]! })}
          />
          {framedPosition >= 0 && (
            <span class="correlation-frame" style={{ top: `${framedPosition * share}%`, height: `${share}%` }} />
          )}
        </div>
      </div>
      <p class="flow gap-2 correlation-legend" ref={swatches}>
        <span class="number">{range.least < 0 ? formatDecimal(-range.limit, 1) : '0'}</span>
        <span class={`correlation-scale${range.least < 0 ? '' : ' is-positive'}`} />
        <span class="number">{formatDecimal(range.limit, 1)}</span>
        <span class="quiet">
          {at === null
            ? `From ${formatDecimal(range.least)} to ${formatDecimal(range.most)} between two securities. Columns in the order of the rows; a row opens its security.`
            : `${names[at[0]]} and ${names[at[1]]}: ${formatDecimal(matrix[at[0]]![at[1]]!)}`}
        </span>
      </p>
    </Section>
  );
}

/** Maximum number of securities whose names fit next to the rows. */
const NAMED_MAX = 48;

/** Height of a line of names, in pixels. */
const LINE_HEIGHT = 12;

interface PaintedMap {
  readonly matrix: readonly (readonly number[])[];
  readonly order: readonly number[];
  readonly strongest: number;
}

/**
 * Draws one pixel per pair of securities. The colour shows the sign of the correlation; its strength shows the size.
 */
function paint(canvas: HTMLCanvasElement, coloured: Element, { matrix, order, strongest }: PaintedMap): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const size = order.length;
  const image = context.createImageData(size, size);
  const { color, backgroundColor } = getComputedStyle(coloured.querySelector('.correlation-scale')!); // the scale is rendered with the map
  const [above, below] = [parseChannels(color), parseChannels(backgroundColor)];
  order.forEach((row, y) =>
    order.forEach((column, x) => {
      const value = matrix[row]![column]!; // the matrix is square
      const [red, green, blue] = value >= 0 ? above : below;
      const strength = row === column ? 1 : Math.abs(value) / (strongest || 1);
      image.data.set([red, green, blue, 255 * Math.min(1, strength)], 4 * (y * size + x));
    }),
  );
  context.putImageData(image, 0, 0);
}

function parseChannels(color: string): readonly [number, number, number] {
  const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue];
}

interface CorrelationRange {
  readonly least: number;
  readonly most: number;
  /** Correlation at which the colour is strongest: the largest absolute value, rounded up to a tenth. */
  readonly limit: number;
}

const NO_RANGE: CorrelationRange = { least: 0, most: 0, limit: 1 };

function createRange(matrix: readonly (readonly number[])[]): CorrelationRange {
  const pairs = matrix.flatMap((row, i) => row.filter((_, j) => j < i));
  const least = pairs.reduce((found, value) => Math.min(found, value), Infinity);
  const largest = pairs.reduce((found, value) => Math.max(found, value), -Infinity);
  if (pairs.length === 0) return NO_RANGE;
  return {
    least,
    most: largest,
    limit: Math.max(0.1, Math.ceil(10 * Math.max(Math.abs(least), Math.abs(largest))) / 10),
  };
}

/**
 * Sorts securities so that similar ones are next to each other. The first has the highest mean correlation. Each next
 * one is most correlated with the one before it.
 */
function computeOrder(matrix: readonly (readonly number[])[]): readonly number[] {
  const sums = matrix.map((row) => row.reduce((sum, value) => sum + value, 0));
  const left = new Set(matrix.keys());
  const order: number[] = [];
  let next: number | undefined = sums.indexOf(Math.max(...sums));
  while (next !== undefined && left.delete(next)) {
    order.push(next);
    const row: readonly number[] = matrix[next]!; // `next` is a row of the matrix
    next = [...left].reduce<number | undefined>(
      (best, one) => (best === undefined || row[one]! > row[best]! ? one : best),
      undefined,
    );
  }
  return order;
}

/** Returns the annual volatility of a portfolio with equal weights in all securities, by the covariance of a model. */
function computeEqualWeightVolatility({ asset_ids: ids, covariance }: RiskModelView, securities: readonly string[]) {
  const places = securities.map((id) => ids.indexOf(id));
  const variance = places.reduce(
    (sum, row) => sum + places.reduce((part, column) => part + Number(covariance.data[row]?.[column] ?? 0), 0),
    0,
  );
  return Math.sqrt(Math.max(0, variance)) / securities.length;
}
