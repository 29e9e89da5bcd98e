import type { Finding, InspectResult } from '#clients/typescript/divisor.js';
import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { FindingTable } from '../../components/finding-table.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Problem } from '../../components/problem.js';
import { Wait } from '../../components/wait.js';
import { formatCount, countValues } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import type { Outcome } from './send-import.js';
import { listUnplaced, StoreFields } from './store-fields.js';
import './data.css';

const ON_EXISTS: FieldSpec = {
  name: 'on_exists',
  label: 'If the id exists',
  kind: 'choice',
  choices: ['refuse', 'replace', 'append'],
  isRequired: true,
  help: 'append adds new rows to an imported store.',
};

interface NewStoreProps {
  readonly header: JsonObject;
  readonly served: string | null;
  readonly outcome: Outcome | null;
  readonly findings: readonly Finding[];
  readonly unsure: InspectResult['unsure'];
  onChange(header: JsonObject): void;
  onSend(): void;
}

const FORM_ID = 'new-store';

/** Renders the settings of a new store, and the reason if the service refused the store. */
export function NewStore({ header, served, outcome, findings, unsure, onChange, onSend }: NewStoreProps) {
  return (
    <form
      id={FORM_ID}
      class="form-card"
      aria-label="The new store"
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <StoreFields
        more={[ON_EXISTS]}
        value={header}
        served={served}
        findings={findings}
        unsure={unsure}
        onChange={onChange}
      />
      {outcome !== null && <RefusedImport outcome={outcome} />}
    </form>
  );
}

interface ImportBarProps {
  readonly files: number;
  readonly mapping: JsonObject | null;
  /** Number of sent files; null if no request is pending. */
  readonly sent: number | null;
  /** Reason why the files cannot be imported; null if there is none. */
  readonly problem: string | null;
  readonly isReady: boolean;
}

/** Renders the bar with the button that creates the store. The bar is always visible. */
export function ImportBar({ files, mapping, sent, problem, isReady }: ImportBarProps) {
  return (
    <div class="import-bar" role="group" aria-label="Import of the files">
      <Button kind="main" type="submit" form={FORM_ID} disabled={!isReady || sent !== null}>
        Import
      </Button>
      {sent === null ? (
        <span class="quiet">
          {problem ?? `${countValues(files, 'file')}, ${mapping === null ? 'standard tables' : 'with a mapping'}`}
        </span>
      ) : (
        <>
          {sent > 0 && (
            <span role="status">
              {formatCount(sent)} of {countValues(files, 'file')} stored
            </span>
          )}
          <Wait what="the service, which checks every row" />
        </>
      )}
    </div>
  );
}

/** Renders why no file was stored. All problems are listed by table, row and column. */
function RefusedImport({ outcome: { trouble, isPartial = false } }: { readonly outcome: Outcome }) {
  if (trouble === null) return null;
  const findings = listUnplaced(trouble.findings, [ON_EXISTS]).filter(({ path }) => !path.startsWith('mapping.'));
  if (trouble.findings.length === 0) return <Problem trouble={trouble} />;
  return (
    <>
      <Banner kind="bad" title={trouble.message}>
        {!isPartial && <p>Nothing was stored. Correct the files and drop them again.</p>}
      </Banner>
      {findings.length > 0 && <FindingTable label="Problems in the files" findings={findings} />}
    </>
  );
}
