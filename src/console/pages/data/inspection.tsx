import '../designer/designer.css';
import { useMemo, useState } from 'preact/hooks';
import type { Finding, InspectResult } from '#clients/typescript/divisor.js';
import { Choice } from '../../components/controls/choice.js';
import { Answered, Badge, type BadgeKind, Problem, Wait } from '../../components/feedback.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { listFieldSpecs, type Schemas, useSchemas } from '../../components/form/schema-form.js';
import { Section } from '../../components/layout/page.js';
import { type LatestRequest, useOneAtATime } from '../../state/latest-request.js';
import type { Trouble } from '../../state/service.js';
import { useStores } from '../../state/stores.js';
import { PRICE_BASIS } from '../../words/datapoints.js';
import { countValues, formatBytes, formatCount } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { FindingTable } from './finding-table.js';
import { type FileSample, INSPECTED_BYTES_MAX } from './import-content.js';
import { needsMapping } from './import-files.js';

/** Members that apply only to wide tables. */
const WIDE_LAYOUT_FIELDS = new Set(['field', 'fields']);

const ENCODING_WORDS: Readonly<Record<string, string>> = {
  'utf-8': 'UTF-8',
  'windows-1252': 'Windows-1252, Western European',
  'windows-1250': 'Windows-1250, Central European',
  'utf-16le': 'UTF-16, little endian',
  'utf-16be': 'UTF-16, big endian',
};

/** Labels and help texts that replace those of the OpenAPI document. An empty field of the form means null. */
const FIELD_PHRASES: Readonly<Record<string, Partial<FieldSpec>>> = {
  identifier_from: {
    help: 'Empty: a column contains the identifier. Otherwise it is part of the file or sheet name, for example `file:{identifier}_data.csv`; files with other names are not read.',
  },
  date_format: {
    help: 'Empty: YYYY-MM-DD. Otherwise a pattern of YYYY, YY, MMM, MM, M, DD and D, for example `D/M/YYYY`, or `epoch_s`, `epoch_ms`, `epoch_us` or `epoch_ns`. A time of day is ignored.',
  },
  encoding: { otherwise: 'utf-8', words: ENCODING_WORDS },
  field: {
    label: 'Field of the numbers',
    help: 'The field of a wide table, for example CLOSE. Empty: a second header row names the field of each column.',
  },
  fields: { label: 'Numbers by table' },
  thousands: {
    label: 'Thousands separator',
    help: 'Used with a decimal point: 1,234.5.',
  },
  ignore: { help: 'Columns, files and sheets to ignore, separated by commas.' },
};

interface MappingFormProps {
  readonly mapping: JsonObject;
  readonly unsure: InspectResult['unsure'];
  /** Findings about the mapping, with a path that begins with `mapping.`. */
  readonly findings: readonly Finding[];
  onChange(mapping: JsonObject): void;
}

/** Renders the mapping of a market with one field per member. Uncertain members show why next to their field. */
function MappingForm({ mapping, unsure, findings, onChange }: MappingFormProps) {
  const schemas = useSchemas();
  const isWide = mapping['layout'] === 'wide';
  return (
    <Answered resource={schemas} what="the fields of a mapping">
      {(all) => (
        <FieldGrid>
          {listFieldSpecs(all, 'Mapping')
            .filter(({ name }) => isWide || !WIDE_LAYOUT_FIELDS.has(name))
            .map((spec) => (
              <Field
                key={spec.name}
                spec={{ ...spec, ...FIELD_PHRASES[spec.name] }}
                value={mapping[spec.name]}
                notes={unsure.flatMap(({ field, question }) => (field === spec.name ? [question] : []))}
                findings={findings.filter(
                  ({ path }) => path === `mapping.${spec.name}` || path.startsWith(`mapping.${spec.name}.`),
                )}
                onChange={(value) => onChange({ ...mapping, [spec.name]: value })}
              />
            ))}
        </FieldGrid>
      )}
    </Answered>
  );
}

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
    <div class={isBehind ? 'stack gap-3 live-answer is-behind' : 'stack gap-3 live-answer'} aria-busy={isBehind}>
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
    <div class="frame raised finding-table" role="group" aria-label="First bars" tabIndex={0}>
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

/** Settings that every new store has. */
const COMMON_FIELDS: readonly FieldSpec[] = [
  { name: 'name', label: 'Name', kind: 'text', isRequired: true },
  { name: 'store_id', label: 'Id', kind: 'text', help: 'Default: derived from the name.' },
  {
    name: 'adjustment',
    label: 'Price basis',
    kind: 'choice',
    choices: Object.keys(PRICE_BASIS),
    words: PRICE_BASIS,
    isRequired: true,
    help: 'Adjustments that the closes already contain; `as traded`: none.',
  },
  {
    name: 'currency',
    label: 'Currency',
    kind: 'text',
    help: 'Currency of securities without a CURRENCY value; three letters.',
  },
  {
    name: 'activate',
    label: 'Serve the store now',
    kind: 'boolean',
    otherwise: false,
    help: 'Requests without a store use the served store.',
  },
];

interface StoreFieldsProps {
  /** Fields that only this kind of store has. */
  readonly more?: readonly FieldSpec[];
  readonly value: JsonObject;
  readonly findings: readonly Finding[];
  /** Uncertainties of the inspection, each shown at its field. */
  readonly unsure?: InspectResult['unsure'];
  /** Store that the service serves; null if there is none. */
  readonly served: string | null;
  onChange(value: JsonObject): void;
}

export function StoreFields({ more = [], value, findings, unsure = [], served, onChange }: StoreFieldsProps) {
  return (
    <FieldGrid>
      {[...more, ...COMMON_FIELDS].map((spec) => (
        <Field
          key={spec.name}
          spec={spec}
          value={value[spec.name]}
          notes={[
            ...unsure.flatMap(({ field, question }) => (field === spec.name ? [question] : [])),
            ...(spec.name === 'activate' ? listServingEffects(served, value['activate'] === true) : []),
          ]}
          findings={findings.filter(({ path }) => path === spec.name || path.startsWith(`${spec.name}.`))}
          onChange={(next) => onChange({ ...value, [spec.name]: next })}
        />
      ))}
    </FieldGrid>
  );
}

/** Describes how serving another store affects all users. */
const listServingEffects = (served: string | null, isToServe: boolean): readonly string[] =>
  isToServe && served !== null
    ? [`This replaces ${served} as the served store. Every index must be run again on the securities of the new store.`]
    : [];

/**
 * Returns the served store, and the default of `activate` for a new store. The default is true if no store is served.
 */
export function useServed(): { readonly served: string | null; readonly activate: boolean } {
  const stores = useStores();
  return { served: stores.data?.active ?? null, activate: stores.data?.active === null };
}

export function listUnplaced(findings: readonly Finding[], more: readonly FieldSpec[] = []): readonly Finding[] {
  const names = new Set([...more, ...COMMON_FIELDS].map(({ name }) => name));
  return findings.filter(({ path }) => !names.has(path.split('.')[0]!)); // the result of a split has at least one part
}

const NOT_CHECKED: LatestRequest<InspectResult> = { data: undefined, trouble: null, isBehind: false };

/**
 * The mapping of inspected content. Inspects the content again whenever the user changes the proposed mapping.
 * @param result first inspection; null if there is none
 * @param inspectWith inspects the content with another mapping; null if there is no content
 */
export function useMapping(
  result: InspectResult | null,
  inspectWith: ((mapping: JsonObject) => Promise<InspectResult>) | null,
) {
  const [mapping, setMapping] = useState<JsonObject | null>(null);
  const schemas = useSchemas();
  const usual = useMemo(() => schemas.data && readMappingDefaults(schemas.data), [schemas.data]) ?? null;
  const proposedMapping = (result?.mapping ?? null) as unknown as JsonObject | null; // the mapping is a JSON object
  const changedMapping = mapping === proposedMapping || inspectWith === null ? null : mapping;
  const latestCheck = useOneAtATime(changedMapping === null ? null : JSON.stringify(changedMapping), () =>
    inspectWith!(changedMapping!),
  );
  return {
    mapping,
    setMapping,
    usual,
    proposedMapping,
    /** True if the content differs from the standard tables. */
    isNeeded: proposedMapping !== null && usual !== null && needsMapping(proposedMapping, usual),
    /** Inspection with the changed mapping. */
    checked: changedMapping === null ? NOT_CHECKED : latestCheck,
  };
}

/** Returns the default of each member of a mapping. */
const readMappingDefaults = (schemas: Schemas): JsonObject =>
  Object.fromEntries(
    listFieldSpecs(schemas, 'Mapping').map(({ name, otherwise }) => [name, (otherwise ?? null) as Json]),
  );
