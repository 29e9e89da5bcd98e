import type { OverlayTypes, ParameterSpec } from '#clients/typescript/divisor.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { useEffect, useState } from 'preact/hooks';
import { Answered } from '../../components/feedback.js';
import { service, useResource } from '../../state/service.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { listFindingsAt, useWorkshop } from './draft.js';
import { Fields, Part } from './parts.js';

const OVERLAY_PATH = ['overlay'] as const;
const TYPE_PATH = [...OVERLAY_PATH, 'type'] as const;
const UNDERLYING_PATH = ['source_index_id'] as const;

/** Renders the overlay type, its parameters and the underlying index. */
export function Overlay() {
  const { draft, findings, known, isStored } = useWorkshop();
  const types = useResource('overlay types', (signal) => service.value.call('listOverlayTypes', { signal }), {
    follows: false,
  });
  const type = draft.at(TYPE_PATH);
  /** The types have different parameters. A blend has parts and no underlying index. */
  const choose = (chosen: string) => {
    const spec = types.data?.overlays.find((one) => one.type === chosen);
    const { source_index_id: beneath, ...others } = draft.document.value;
    const parts =
      chosen === 'blend' && typeof beneath === 'string' ? { parts: [{ index_id: beneath, weight: 1 }] } : {};
    const first = draft.at([...OVERLAY_PATH, 'parts', 0, 'index_id']);
    const source = chosen === 'blend' ? {} : { source_index_id: beneath ?? first };
    const proposedOverlay = isStored ? {} : rename(others, { from: String(type), to: chosen });
    draft.replace({
      ...others,
      ...proposedOverlay,
      ...source,
      overlay: { type: chosen, ...parts, ...listProposed(spec), ...createFirstMember(spec?.parameters ?? []) },
    });
  };
  // If an index is converted, its currency is the target currency.
  const into = draft.at([...OVERLAY_PATH, 'to']);
  useEffect(() => {
    if (!isStored && typeof into === 'string' && /^[A-Z]{2}[A-Za-z]$/.test(into)) draft.set(['currency'], into);
  }, [into]);
  return (
    <Answered resource={types} what="the kinds of overlay">
      {({ overlays }) => {
        const spec = overlays.find((one) => one.type === type);
        return (
          <Part title="Overlay" help="An index on another index, with currency, leverage, risk control or fees applied">
            <FieldGrid>
              <Field
                spec={{
                  name: 'type',
                  label: 'Overlay',
                  kind: 'choice',
                  choices: overlays.map((one) => one.type),
                  words: Object.fromEntries(overlays.map((one) => [one.type, one.label])),
                  isRequired: true,
                  help: spec?.help ?? null,
                }}
                value={type}
                findings={listFindingsAt(findings, TYPE_PATH)}
                onChange={(chosen) => typeof chosen === 'string' && choose(chosen)}
              />
              {type !== 'blend' && (
                <Field
                  spec={{
                    name: 'source_index_id',
                    label: 'Underlying index',
                    kind: 'choice',
                    choices: known.indices.filter((id) => !isStored || id !== draft.at(['id'])),
                    isRequired: true,
                  }}
                  value={draft.at(UNDERLYING_PATH)}
                  findings={listFindingsAt(findings, UNDERLYING_PATH)}
                  onChange={(chosen) => draft.set(UNDERLYING_PATH, chosen)}
                />
              )}
            </FieldGrid>
            <ParameterGroups key={String(type)} parameters={(spec?.parameters ?? []).map(separateUnit)} />
            {spec !== undefined && (
              <details class="quiet">
                <summary>Formula</summary>
                <p>
                  <code>{spec.formula}</code>
                </p>
                <p>{spec.reference}</p>
              </details>
            )}
          </Part>
        );
      }}
    </Answered>
  );
}

interface Alternative {
  /** Question that the choice answers. */
  readonly label: string;
  /** Members of which exactly one must be set, each with the text of the choice and its first value. */
  readonly members: Readonly<Record<string, { readonly text: string; readonly first: Json }>>;
}

/** Parameters of overlays of which exactly one must be set. */
const ALTERNATIVES: readonly Alternative[] = [
  {
    label: 'Volatility estimate',
    members: {
      half_lives: { text: 'recent sessions count more', first: [11, 23] },
      sessions: { text: 'equal weights', first: 60 },
    },
  },
  {
    label: 'Decrement in',
    members: {
      percent: { text: 'percent per year', first: 5 },
      points: { text: 'index points per year', first: 50 },
    },
  },
];

/** Returns the alternatives to which the parameters of an overlay belong. Returns undefined if there are none. */
function findAlternative(parameters: readonly ParameterSpec[]): Alternative | undefined {
  const names = new Set(parameters.map(({ name }) => name));
  return ALTERNATIVES.find(({ members }) => Object.keys(members).every((name) => names.has(name)));
}

/** Returns the first of the alternative parameters with its initial value. */
function createFirstMember(parameters: readonly ParameterSpec[]): JsonObject {
  const [first] = Object.entries(findAlternative(parameters)?.members ?? {});
  return first === undefined ? {} : { [first[0]]: first[1].first };
}

type OverlayType = OverlayTypes['overlays'][number];

/** Returns the required numbers of an overlay type's example. With them, a preview can be shown at once. */
function listProposed(spec: OverlayType | undefined): JsonObject {
  const example = (spec?.example ?? {}) as JsonObject; // the example is a document
  const requiredParameters = (spec?.parameters ?? []).filter(
    (one) => one.required && typeof example[one.name] === 'number',
  );
  return Object.fromEntries(requiredParameters.map(({ name }) => [name, example[name]]));
}

/** Parameters that few overlays change. Each group has a title. */
const FOLDED: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  { title: 'Reviews of the exposure', names: ['tolerance', 'max_change', 'review'] },
  {
    title: 'Cash, costs and day count',
    names: ['cash', 'financing', 'spread_bps', 'cost_bps', 'basis', 'annualisation'],
  },
];

/** Maximum number of parameters that are all open. If there are more, those that few overlays change are folded. */
const OPEN_MAX = 6;

/** Renders the parameters of an overlay. If there are many, only the main parameters are open at first. */
function ParameterGroups({ parameters }: { readonly parameters: readonly ParameterSpec[] }) {
  if (parameters.length <= OPEN_MAX) return <Parameters parameters={parameters} />;
  const foldedNames = new Set(FOLDED.flatMap(({ names }) => names));
  return (
    <>
      <Parameters parameters={parameters.filter(({ name }) => !foldedNames.has(name))} />
      {FOLDED.map(({ title, names }) => (
        <FoldedGroup key={title} title={title} parameters={parameters.filter(({ name }) => names.includes(name))} />
      ))}
    </>
  );
}

interface FoldedGroupProps {
  readonly title: string;
  readonly parameters: readonly ParameterSpec[];
}

/** Renders parameters that are folded unless one of them is set or has a finding. */
function FoldedGroup({ title, parameters }: FoldedGroupProps) {
  const { draft, findings } = useWorkshop();
  const [isOpen, setOpen] = useState(() =>
    parameters.some(({ name }) => (draft.at([...OVERLAY_PATH, name]) ?? null) !== null),
  );
  const isWrong = parameters.some(({ name }) => listFindingsAt(findings, [...OVERLAY_PATH, name]).length > 0);
  if (parameters.length === 0) return null;
  return (
    <details class="overlay-group" open={isOpen || isWrong} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      <Fields fields={parameters} within={OVERLAY_PATH} />
    </details>
  );
}

/**
 * Renders the parameters of an overlay. If parameters are alternatives, the user selects one, and only its field is
 * shown.
 */
function Parameters({ parameters }: { readonly parameters: readonly ParameterSpec[] }) {
  const { draft } = useWorkshop();
  const choice = findAlternative(parameters);
  if (choice === undefined) return <Fields fields={parameters} within={OVERLAY_PATH} />;
  const members = Object.keys(choice.members);
  const isGiven = (name: string) => (draft.at([...OVERLAY_PATH, name]) ?? null) !== null;
  const chosenMember = members.find(isGiven) ?? members[0]!; // an alternative has members
  const otherMembers = members.filter((name) => name !== chosenMember);
  // A document that contains several of the members is invalid. All their fields are shown, so that the user can remove
  // one.
  const hiddenMembers = new Set(otherMembers.filter((name) => !isGiven(name)));
  const position = parameters.findIndex(({ name }) => members.includes(name));
  const choose = (name: string) => {
    const overlay = draft.at(OVERLAY_PATH);
    const keptEntries = Object.entries(isObject(overlay) ? overlay : {}).filter(([own]) => !members.includes(own));
    draft.set(OVERLAY_PATH, { ...Object.fromEntries(keptEntries), [name]: choice.members[name]!.first }); // one of the members
  };
  return (
    <>
      <Fields fields={parameters.slice(0, position)} within={OVERLAY_PATH}>
        <Field
          spec={{
            name: choice.label,
            label: choice.label,
            kind: 'choice',
            choices: members,
            words: Object.fromEntries(members.map((name) => [name, choice.members[name]!.text])),
            isRequired: true,
          }}
          value={chosenMember}
          findings={[]}
          onChange={(name) => typeof name === 'string' && choose(name)}
        />
      </Fields>
      <Fields
        fields={parameters.slice(position).filter(({ name }) => !hiddenMembers.has(name))}
        within={OVERLAY_PATH}
      />
    </>
  );
}

/**
 * Returns a parameter whose label contains no unit. For example, the unit in `Spread bps` becomes the unit of the
 * field.
 */
const separateUnit = (parameter: ParameterSpec): ParameterSpec =>
  parameter.label.endsWith(' bps')
    ? {
        ...parameter,
        label: parameter.label.slice(0, -' bps'.length),
        help: `${parameter.help ?? ''} Unit: bp.`,
      }
    : parameter;

/** Returns the texts that an overlay type appends to the id and name of the underlying index. */
const createSuffixes = (type: string): { readonly id: string; readonly name: string } =>
  type === 'fee'
    ? { id: '-NET', name: ', net of a fee' }
    : { id: `-${type.toUpperCase().replaceAll('_', '-')}`, name: `, ${type.replaceAll('_', ' ')}` };

/** Replaces the proposed id and name after the overlay type was changed. An id or name that was edited is kept. */
function rename(document: JsonObject, { from, to }: { readonly from: string; readonly to: string }): JsonObject {
  const [before, after] = [createSuffixes(from), createSuffixes(to)];
  const namedMembers = (['id', 'name'] as const).flatMap((member) => {
    const text = document[member];
    if (typeof text !== 'string' || !text.endsWith(before[member])) return [];
    return [[member, text.slice(0, text.length - before[member].length) + after[member]] as const];
  });
  return Object.fromEntries(namedMembers);
}

/** Fee of a new overlay, in percent per year. */
const INITIAL_FEE = 0.5;

/** Returns the first definition of an overlay on an index. Its type is a fee. */
export const createOverlayDocument = (beneath: JsonObject): JsonObject => ({
  id: `${String(beneath['id'])}${createSuffixes('fee').id}`,
  name: `${String(beneath['name'])}${createSuffixes('fee').name}`,
  calendar: beneath['calendar'],
  base_date: beneath['base_date'],
  base_value: beneath['base_value'],
  currency: beneath['currency'],
  kind: 'overlay',
  source_index_id: beneath['id'],
  overlay: { type: 'fee', percent: INITIAL_FEE },
});
