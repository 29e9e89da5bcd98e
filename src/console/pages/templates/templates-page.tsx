import type { MethodologyTemplateSummary } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { LinkButton } from '../../components/button.js';
import { Select, type Option } from '../../components/choice.js';
import { Page, Section } from '../../components/page.js';
import { Sparkline } from '../../components/sparkline.js';
import { Answered } from '../../components/wait.js';
import { formatAddress, getParameter, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatChange, formatCount } from '../../words/numbers.js';
import { findFreeId } from './free-id.js';
import './templates.css';

/** Page of templates from published methodologies. */
export function TemplatesPage() {
  const templates = useResource('methodology templates', (signal) =>
    service.value.call('listMethodologyTemplates', { signal }),
  );
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const takenIds = new Set(indices.data?.indices.map(({ id }) => id));
  return (
    <Page
      title="Templates"
      above={[{ address: '/', text: 'Indices' }]}
      subtitle="Published methodologies as index documents, with their level on the served store over the last three years."
    >
      <Answered resource={templates} what="the templates">
        {({ templates: all }) => <Gallery templates={all} taken={takenIds} />}
      </Answered>
    </Page>
  );
}

interface GalleryProps {
  readonly templates: readonly MethodologyTemplateSummary[];
  readonly taken: ReadonlySet<string>;
}

/** Number of levels that are requested at the same time. Each request runs a backtest. */
const REQUESTS = 3;

/** Number of cards on the first screen of a wide window. */
const FIRST_SCREEN = 12;

/** Renders the templates as cards, grouped by kind. */
function Gallery({ templates, taken }: GalleryProps) {
  /** Problems of the templates whose level was requested; null for a level without a problem. */
  const [answered, setAnswered] = useState<ReadonlyMap<string, string | null>>(new Map());
  const canRunHere = (template: MethodologyTemplateSummary) =>
    template.can_run === true && (answered.get(template.id) ?? null) === null;
  const [typed, setTyped] = useState('');
  const kind = KINDS.find(({ value }) => value === getParameter('kind'))?.value ?? '';
  const isRunnable = getParameter('runs') === 'yes';
  const foundTemplates = templates.filter(
    (template) =>
      holdsWords(template, typed) && (kind === '' || template.kind === kind) && (!isRunnable || canRunHere(template)),
  );
  const groups = GROUPS.map((group) => ({ ...group, cards: listRunnableFirst(foundTemplates, group.value) }));
  const orderedTemplates = groups.flatMap(({ cards }) => cards);
  const first = new Set(orderedTemplates.slice(0, FIRST_SCREEN));
  const requestedTemplates = orderedTemplates
    .filter(({ id, can_run: canRun }) => canRun === true && !answered.has(id))
    .slice(0, REQUESTS);
  return (
    <>
      <div class="template-tools">
        <input
          type="search"
          class="control template-search"
          placeholder="Search"
          aria-label="Search templates"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <Select
          label="Kind of template"
          options={KINDS}
          value={kind}
          onChoose={(chosen) => setParameters({ kind: chosen === '' ? null : chosen })}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={isRunnable}
            onChange={(event) => setParameters({ runs: event.currentTarget.checked ? 'yes' : null })}
          />
          Only those that can run
        </label>
        <span class="quiet">
          {foundTemplates.length} of {templates.length}
        </span>
      </div>
      {groups
        .filter(({ cards }) => cards.length > 0)
        .map(({ value, text, cards }) => (
          <Section key={value} title={text} aside={formatRunnable(cards, cards.filter(canRunHere).length)}>
            <ul class="templates">
              {cards.map((template) => (
                <Card
                  key={template.id}
                  template={template}
                  taken={taken}
                  isAsked={requestedTemplates.includes(template) || answered.has(template.id)}
                  isFirst={first.has(template)}
                  onAnswer={(problem) => setAnswered((before) => new Map([...before, [template.id, problem]]))}
                />
              ))}
            </ul>
          </Section>
        ))}
      {foundTemplates.length === 0 && <p class="quiet">No template matches the search.</p>}
    </>
  );
}

type Kind = MethodologyTemplateSummary['kind'];

/** Groups of templates, in the order of the page. */
const GROUPS: readonly Option<Kind>[] = [
  { value: 'size', text: 'Size: market capitalisation' },
  { value: 'other_weighting', text: 'Equal, price or risk weights' },
  { value: 'factor', text: 'Factors and themes' },
  { value: 'optimised', text: 'Optimised' },
  { value: 'overlay', text: 'Overlays on other indices' },
];

const KINDS: readonly Option<Kind | ''>[] = [{ value: '', text: 'All kinds' }, ...GROUPS];

type Templates = readonly MethodologyTemplateSummary[];

/** Returns the templates of a kind. Those that the served store supports come first. */
const listRunnableFirst = (templates: Templates, kind: Kind): Templates => {
  const kindTemplates = templates.filter((template) => template.kind === kind);
  return [
    ...kindTemplates.filter(({ can_run: canRun }) => canRun === true),
    ...kindTemplates.filter(({ can_run: canRun }) => canRun !== true),
  ];
};

/** Describes how many templates of a group work with the served store. */
function formatRunnable(cards: Templates, runnable: number): string {
  if (cards.every(({ can_run: canRun }) => canRun === null)) return formatCount(cards.length);
  return runnable === cards.length ? `all ${runnable} can run` : `${runnable} of ${cards.length} can run`;
}

/** Returns true if a template contains all typed words, in any order. Its title, style and source are searched. */
function holdsWords({ title, style, source }: MethodologyTemplateSummary, words: string): boolean {
  const text = `${title} ${style} ${source.publisher} ${source.title}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

interface CardProps {
  readonly template: MethodologyTemplateSummary;
  readonly taken: ReadonlySet<string>;
  readonly isAsked: boolean;
  /** True if the card is on the first screen. */
  readonly isFirst: boolean;
  /** @param problem reason why the template cannot be computed; null if there is none */
  onAnswer(problem: string | null): void;
}

function Card({ template, taken, isAsked, isFirst, onAnswer }: CardProps) {
  const { id, title, style, source } = template;
  const level = useResource(
    isAsked ? `template level ${id}` : null,
    (signal) => service.value.call('getMethodologyTemplateLevel', { params: { methodology_id: id }, signal }),
    { follows: false },
  );
  const isDone = level.data !== undefined || level.trouble !== null;
  const problem = level.data?.problem ?? level.trouble?.message ?? null;
  useEffect(() => {
    if (isDone) onAnswer(problem);
  }, [isDone, problem]);
  const address = formatAddress('/console/indices/new', { template: id, id: findFreeId(template, taken) });
  return (
    <li class="template" aria-busy={isFirst && isAsked && !isDone}>
      <header>
        <h3>{title}</h3>
        <State template={template} problem={problem} />
      </header>
      <p>{style}</p>
      <p class="quiet template-source">
        {source.publisher}, <cite>{source.title}</cite>, {source.date}
      </p>
      <Missing template={template} />
      {problem !== null && (
        <details>
          <summary>Reason</summary>
          {problem}
        </details>
      )}
      <footer>
        {template.can_run === true && !isDone && <span class="skeleton template-waits" aria-hidden="true" />}
        <Thumbnail values={level.data?.level?.data ?? []} title={title} />
        {may('write') && <LinkButton href={address}>Use</LinkButton>}
      </footer>
    </li>
  );
}

function Thumbnail({ values, title }: { readonly values: readonly (number | null)[]; readonly title: string }) {
  const [first, last] = [values[0], values.at(-1)];
  if (first == null || last == null) return null;
  return (
    <span class="template-level">
      <Sparkline values={values} label={`Level of ${title} on the served store`} />
      {formatChange(last / first - 1)}
    </span>
  );
}

interface StateProps extends Pick<CardProps, 'template'> {
  /** Error because of which the template cannot be computed on the served store; null if there is none. */
  readonly problem: string | null;
}

/** Renders a mark if the template cannot run on the served store. */
function State({ template: { can_run: canRun }, problem }: StateProps) {
  if (canRun === false) return <Badge>needs other data</Badge>;
  return problem === null ? null : <Badge kind="warning">not on this store</Badge>;
}

/** Renders which data the served store lacks. The names of the columns are folded. */
function Missing({ template: { needs, missing_rates: rates, can_run: canRun } }: Pick<CardProps, 'template'>) {
  const missing = needs.filter((need) => need.missing);
  if (canRun !== false || missing.length + rates.length === 0) return null;
  const meanings = [
    ...missing.map(({ meaning }) => meaning.replace(/\.$/, '')),
    ...rates.map((pair) => `Exchange rate ${pair}`),
  ];
  return (
    <div class="template-missing">
      Data that the store lacks: {meanings.join('; ')}.
      {missing.length > 0 && (
        <details>
          <summary>Details</summary>
          {missing.map(({ name, kind }) => (
            <span key={name}>
              {kind} <code>{name}</code>{' '}
            </span>
          ))}
        </details>
      )}
    </div>
  );
}
