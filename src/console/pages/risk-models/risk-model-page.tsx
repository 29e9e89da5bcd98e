import type { RiskModelView } from '#clients/typescript/divisor.js';
import { Fragment } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { ActionButton } from '../../components/controls/action-button.js';
import { Bars } from '../../components/layout/bars.js';
import { Button, LinkButton } from '../../components/controls/button.js';
import { Confirm } from '../../components/layout/dialog.js';
import { Facts, Metrics } from '../../components/layout/facts.js';
import { Answered, Findings, Problem, Wait } from '../../components/feedback.js';
import { JobState } from '../../components/jobs.js';
import { labelWithName, nameColumn } from '../../components/securities.js';
import { Page, Section } from '../../components/layout/page.js';
import { Table } from '../../components/table/table.js';
import { type Column, createNumericColumn } from '../../components/table/columns.js';
import { computeEqualWeightVolatility, CorrelationMap } from './correlation-map.js';
import { formatAddress, getParameter, navigate, type PageProps, setParameters } from '../../state/location.js';
import { attempt, start } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { getJob } from '../../state/live.js';
import { type NameFacts, useNames } from '../../state/market.js';
import { may, notifyChange, service, useResource } from '../../state/service.js';
import { useStoredModels } from '../../state/risk-models.js';
import { formatIndexAddress, formatSecurityAddress } from '../../words/addresses.js';
import { formatCompact } from '../../words/quantities.js';
import { countValues, formatCount, formatDecimal, formatFigure, formatPercent } from '../../words/numbers.js';

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
  const models = useResource('risk models', (signal) => service.value.call('listRiskModels', { signal }));
  const assets = models.data?.risk_models.find(({ model_id: modelId }) => modelId === id)?.assets;
  const isWaited = models.data === undefined || (assets === undefined && isUnderWay(job?.status));
  const model = useResource(isWaited || (assets ?? 0) > NAMES_MAX ? null : `risk model ${id}`, (signal) =>
    service.value.call('getRiskModel', { params: { model_id: id }, signal }),
  );
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
  attempt(async () => {
    saveFile(`${id}.arrow`, await service.value.download('getRiskModel', ARROW_MEDIA, { params: { model_id: id } }));
  });

function Actions({ id, isBusy }: { readonly id: string; readonly isBusy: boolean }) {
  const [isAsking, setAsking] = useState(false);
  const params = { model_id: id };
  const remove = () =>
    attempt(async () => {
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
          act={(onRefusal) => start(() => service.value.call('estimateRiskModel', { params }), onRefusal)}
        >
          Estimate again
        </ActionButton>
      )}
      {may('write') && (
        <Button kind="danger" onClick={() => setAsking(true)}>
          Delete
        </Button>
      )}
      {isAsking && (
        <Confirm
          title={`Delete ${id}?`}
          action="Delete"
          onConfirm={() => void remove()}
          onClose={() => setAsking(false)}
        >
          <p>Derived indices that use it can no longer be run.</p>
        </Confirm>
      )}
    </>
  );
}

interface Name {
  readonly identifier: string;
  readonly volatility: number;
}

/** Renders the figures, volatilities and correlations of a model. */
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
      <div class="side-by-side">
        <div class="notes">
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

/** Names the index of a model, with a link to its page. */
const IndexNote = ({ id }: { readonly id: string }) => (
  <>
    of <a href={formatIndexAddress(id)}>{id}</a>
  </>
);

/** Returns the index from which a model took its securities. Returns undefined for a list or an imported model. */
function useModelIndex(model: string): string | undefined {
  const models = useResource('risk models', (signal) => service.value.call('listRiskModels', { signal }));
  return models.data?.risk_models.find(({ model_id: id }) => id === model)?.index_id ?? undefined;
}

/** Returns the store of the index of a model. Returns undefined for the served store. */
const useModelStore = (model: string): string | undefined =>
  useStoredModels().find((one) => one.model.model_id === model)?.store ?? undefined;

const VOLATILITY: Column<Name> = createNumericColumn({
  id: 'volatility',
  title: 'Volatility',
  width: 100,
  of: ({ volatility }) => volatility,
  write: formatPercent,
});
