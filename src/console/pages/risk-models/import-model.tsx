import type { Operations, RiskModelImportInput } from '#clients/typescript/divisor.js';
import { useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Field } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Problem } from '../../components/problem.js';
import { Findings } from '../../components/findings.js';
import { useAddressedObject } from '../../state/addressed.js';
import { navigate, getParameter, setParameters } from '../../state/location.js';
import { service, createTrouble, type Trouble } from '../../state/service.js';
import { formatRiskModelAddress } from '../../words/addresses.js';

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

/** Renders the form that imports a risk model from a file. */
export function ImportModel({ onCancel }: { readonly onCancel: () => void }) {
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
      <div class="field-grid is-joined">
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
      <div class="dialog-actions">
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
