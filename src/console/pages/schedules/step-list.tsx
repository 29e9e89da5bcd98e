import type { Finding } from '#clients/typescript/divisor.js';
import { Button } from '../../components/button.js';
import { KindList } from '../../components/form/kind-list.js';
import { listRows } from '../../components/form/row-list.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Icon } from '../../components/icon.js';
import type { Schemas } from '../../state/schemas.js';
import type { JsonObject } from '../../words/paths.js';
import { CHECK_WORDS, stepWords } from './step-words.js';

interface StepListProps {
  readonly steps: readonly JsonObject[];
  readonly findings: readonly Finding[];
  onChange(steps: readonly JsonObject[]): void;
}

/** Renders the steps of a schedule in order. Each has the form of its type. */
export function StepList({ steps, findings, onChange }: StepListProps) {
  return (
    <KindList
      what="step"
      rows={steps}
      member="type"
      formatName={stepWords}
      selectSchema={stepSchema}
      path={['steps']}
      findings={findings}
      hidden={() => ['files']}
      rare={RARE_FIELDS}
      listFieldChanges={() => FIELD_CHANGES}
      more={(step, at, put) =>
        step['type'] === 'export' && (
          <Files
            at={at}
            files={listRows(step['files'])}
            findings={findings}
            onChange={(files) => put({ ...step, files })}
          />
        )
      }
      fresh={(type) => (type === 'export' ? { files: [{ table: 'closing' }] } : {})}
      onChange={onChange}
    />
  );
}

/** Members that only few schedules need. */
const RARE_FIELDS = ['fail_on', 'allow_partial', 'indices', 'clients'];

const FIELD_CHANGES = { errors: { label: 'Error policy' }, checks: { words: CHECK_WORDS } };

const stepSchema = (schemas: Schemas) => schemas['ScheduleBody']?.properties?.['steps']?.items ?? {};

interface FilesProps {
  /** Position of the step in the schedule. */
  readonly at: number;
  readonly files: readonly JsonObject[];
  readonly findings: readonly Finding[];
  onChange(files: readonly JsonObject[]): void;
}

/** Renders the form of the files that a step writes for each index. */
function Files({ at, files, findings, onChange }: FilesProps) {
  const renderFileForm = (names: readonly string[], file: JsonObject, k: number) => (
    <SchemaForm
      schema="ExportedFileInput"
      names={names}
      value={file}
      findings={findings}
      path={['steps', at, 'files', k]}
      onChange={(next) => onChange(files.map((own, i) => (i === k ? next : own)))}
    />
  );
  return (
    <>
      {files.map((file, k) => (
        <div key={k} class="field-row" role="group" aria-label={`File ${k + 1} of step ${at + 1}`}>
          <div>
            {renderFileForm(['table', 'format', 'name'], file, k)}
            <details class="row-more">
              <summary>More settings</summary>
              {renderFileForm(['indices', 'by', 'from_start', 'optional'], file, k)}
            </details>
          </div>
          <Button
            kind="bare"
            aria-label={`Remove file ${k + 1} of step ${at + 1}`}
            onClick={() => onChange(files.filter((_, i) => i !== k))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <div>
        <Button onClick={() => onChange([...files, { table: 'closing' }])}>
          <Icon name="plus" /> Add a file
        </Button>
      </div>
    </>
  );
}
