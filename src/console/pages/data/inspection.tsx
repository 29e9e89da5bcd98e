import type { Finding, InspectResult } from '#clients/typescript/divisor.js';
import { Badge, type BadgeKind } from '../../components/badge.js';
import { Choice } from '../../components/choice.js';
import { FindingTable } from '../../components/finding-table.js';
import { Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { Wait } from '../../components/wait.js';
import type { LatestRequest } from '../../state/one-at-a-time.js';
import type { Trouble } from '../../state/service.js';
import { formatBytes, formatCount, countValues } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { INSPECTED_BYTES_MAX, type FileSample } from './import-content.js';
import { MappingForm } from './mapping-form.js';
import '../designer/designer.css';

/** Report of the service about files before they are imported. */
export interface InspectionState {
  /** Inspected part of the files; null if no file can be inspected. */
  readonly sample: FileSample | null;
  readonly result: InspectResult | null;
  readonly trouble: Trouble | null;
}

interface InspectionProps {
  readonly inspected: InspectionState | null;
  /** Number of all files. Absent for a source that the service reads completely. */
  readonly files?: number;
  /** Default of each member of a mapping. Null until the defaults are loaded. */
  readonly usual: JsonObject | null;
  readonly isLooking: boolean;
  /** Mapping of the market; null if all columns have their standard names. */
  readonly mapping: JsonObject | null;
  /** Result for a mapping that differs from the proposed mapping. */
  readonly checked: LatestRequest<InspectResult>;
  /** Findings of the service about the mapping. */
  readonly findings: readonly Finding[];
  onChange(mapping: JsonObject | null): void;
}

const CONFIDENCE: Readonly<Record<InspectResult['confidence'], BadgeKind>> = {
  sure: 'good',
  likely: 'info',
  unsure: 'warning',
};

const LAYOUT_OPTIONS = [
  {
    value: 'plain',
    text: 'Standard tables',
    help: 'Columns have the standard names: identifier, date, CLOSE and others',
  },
  { value: 'mapped', text: 'With a mapping', help: 'Columns, dates and numbers have the format of the vendor' },
] as const;

/**
 * Renders the preview of an import or of a source: the format of the files, the proposed mapping, its uncertainties and the first
 * bars.
 */
export function Inspection(props: InspectionProps) {
  const { inspected, isLooking, usual, mapping, checked, findings: refused, onChange } = props;
  if (isLooking) return <Wait what="the result of the inspection" />;
  if (inspected === null || usual === null) return null;
  const { result, trouble } = inspected;
  const proposedMapping = result === null ? usual : (result.mapping as unknown as JsonObject); // the mapping is a JSON object
  return (
    <Section
      title="Format"
      aside={
        <>
          {result !== null && <Confidence result={result} />}
          <Choice
            label="Format"
            options={LAYOUT_OPTIONS}
            value={mapping === null ? 'plain' : 'mapped'}
            onChoose={(way) => onChange(way === 'plain' ? null : proposedMapping)}
          />
        </>
      }
    >
      {props.files !== undefined && <InspectedPart inspected={inspected} files={props.files} />}
      {trouble !== null && mapping === null && <Problem trouble={trouble} />}
      {result !== null && mapping === null && (
        <>
          {props.files === undefined && <ReadRows result={result} />}
          {result.findings.length > 0 && <FindingTable label="Findings of the inspection" findings={result.findings} />}
        </>
      )}
      {mapping !== null && (
        <>
          <MappingForm
            mapping={mapping}
            unsure={result?.unsure ?? []}
            findings={[...refused, ...(checked.trouble?.findings ?? [])]}
            onChange={onChange}
          />
          <Read proposed={result} checked={checked} />
        </>
      )}
    </Section>
  );
}

function Confidence({ result: { confidence, recognised_as: vendor } }: { readonly result: InspectResult }) {
  return <Badge kind={CONFIDENCE[confidence]}>{vendor === null ? confidence : `${confidence}: ${vendor}`}</Badge>;
}

/** Renders which part of the files was inspected. Renders nothing if the service inspected all of them. */
function InspectedPart({ inspected, files }: { readonly inspected: InspectionState; readonly files: number }) {
  const { sample, trouble } = inspected;
  if (sample === null && trouble === null)
    return (
      <p class="quiet">
        Not inspected: a workbook or Parquet file of more than {formatBytes(INSPECTED_BYTES_MAX)} is checked when it is
        imported.
      </p>
    );
  if (sample === null || (!sample.isCut && sample.files === files)) return null;
  return (
    <p class="quiet">
      {sample.isCut
        ? 'The first rows of the file were'
        : `${formatCount(sample.files)} of ${countValues(files, 'file')} were`}{' '}
      inspected, as much as fits into {formatBytes(INSPECTED_BYTES_MAX)}. Everything is checked when it is imported.
    </p>
  );
}

/** Renders the bars that the service reads with the mapping. The mapping is the proposed or the edited one. */
function Read({
  proposed,
  checked,
}: {
  readonly proposed: InspectResult | null;
  readonly checked: LatestRequest<InspectResult>;
}) {
  const { data, trouble, isBehind } = checked;
  const read = data ?? proposed;
  const elsewhere = trouble?.findings.filter(({ path }) => !path.startsWith('mapping.')) ?? [];
  return (
    <div class={isBehind ? 'live-answer is-behind' : 'live-answer'} aria-busy={isBehind}>
      {isBehind && <Wait what="the bars read with the mapping" />}
      {trouble !== null && (trouble.findings.length === 0 || elsewhere.length > 0) && (
        <Problem trouble={{ ...trouble, findings: elsewhere }} />
      )}
      {trouble === null && read !== null && (
        <>
          <p class="quiet">
            {countValues(read.rows_read, 'bar')} read with the
            {data === undefined ? ' proposed mapping' : ' current mapping'}.
          </p>
          <Preview frame={read.preview} />
          {read.findings.length > 0 && <FindingTable label="Findings of the mapping" findings={read.findings} />}
        </>
      )}
    </div>
  );
}

/** Renders the number of bars in a source with standard tables, and the first bars. */
const ReadRows = ({ result: { files, rows_read: rows, preview } }: { readonly result: InspectResult }) => (
  <>
    <p class="quiet">
      {countValues(rows, 'bar')} read from {countValues(files, 'table')} of prices.
    </p>
    <Preview frame={preview} />
  </>
);

function Preview({ frame: { columns, data } }: { readonly frame: InspectResult['preview'] }) {
  if (data.length === 0) return null;
  return (
    <div class="finding-table" role="group" aria-label="First bars" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.map((row, k) => (
            <tr key={k}>
              {columns.map((column, at) => (
                <td key={column}>{row[at] === null ? '–' : String(row[at])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
