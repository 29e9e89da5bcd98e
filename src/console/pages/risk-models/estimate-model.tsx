import type { JobStatus, RiskModelRequest } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Field } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Problem } from '../../components/problem.js';
import { useAddressedObject } from '../../state/addressed.js';
import { storeJob } from '../../state/live.js';
import { navigate, getParameter, setParameters } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service, createTrouble, type Trouble } from '../../state/service.js';
import { formatRiskModelAddress } from '../../words/addresses.js';
import { ESTIMATORS, ESTIMATOR_HELP, SETTING_HELP, listSettings } from './estimators.js';

const CHOICE_PHRASES = {
  target: { constant_correlation: 'equal correlations', scaled_identity: 'no correlations' },
  intensity_method: { shape: 'by securities and observations', ledoit_wolf: 'Ledoit and Wolf' },
};

/** Settings that are folded. Few models need them. */
const OTHER_FIELDS = ['returns', 'repair', 'identifiers'];

/** Renders the form of a new risk model. It contains only the settings of the selected estimator. */
export function EstimateModel({ onCancel }: { readonly onCancel: () => void }) {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
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
        {renderForm(['index_id', 'estimator', ...listSettings(estimator), 'start', 'end'])}
      </div>
      <details>
        <summary>More settings</summary>
        {renderForm(OTHER_FIELDS)}
      </details>
      {trouble !== null && trouble.findings.length === 0 && <Problem trouble={trouble} />}
      <div class="dialog-actions">
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
