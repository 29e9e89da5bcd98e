import './templates.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import type { MethodologyTemplateSummary } from '#clients/typescript/divisor.js';
import { LinkButton, Popover } from '../../components/controls/button.js';
import { type Option, Select } from '../../components/controls/choice.js';
import { Answered, Badge } from '../../components/feedback.js';
import { Page, Section } from '../../components/layout/page.js';
import { Sparkline } from '../../components/layout/sparkline.js';
import { StoreSelect } from '../../components/stores.js';
import { formatAddress, getParameter, setParameters } from '../../state/location.js';
import { may, useAnswer, useList } from '../../state/service.js';
import { findStoreOfDocument, getChosenStore, useStores } from '../../state/stores.js';
import { findFreeId } from '../../words/form-fields.js';
import { countValues, formatChange, formatCount } from '../../words/numbers.js';

interface LackingProps {
  readonly template: MethodologyTemplateSummary;
}

/** Renders which data the store lacks. */
function Missing({ template, id }: LackingProps & { readonly id: string }) {
  const meanings = [
    ...listMissing(template).map(({ meaning }) => meaning.replace(/\.$/, '')),
    ...template.missing_rates.map((pair) => `Exchange rate ${pair}`),
  ];
  return (
    <div class="small second template-reason" id={id}>
      {meanings.length === 0 ? 'The store lacks data of the template.' : 'Data that the store lacks:'}
      <ul>
        {meanings.map((meaning) => (
          <li key={meaning}>{meaning}</li>
        ))}
      </ul>
    </div>
  );
}

/** Renders a button that lists the names of the columns, series, universes and exchange rates that the store lacks. */
function Details({ template }: LackingProps) {
  const missing = listMissing(template);
  const rates = template.missing_rates;
  if (missing.length + rates.length === 0) return null;
  return (
    <Popover label={`Details of the data that the store lacks for ${template.title}`} title="Details" kind="bare">
      {() => (
        <ul>
          {missing.map(({ name, kind, meaning }) => (
            <li key={name}>
              {kind} <code>{name}</code>: {meaning}
            </li>
          ))}
          {rates.map((pair) => (
            <li key={pair}>
              series <code>{pair}</code>: Price of one {pair.slice(0, 3)} in {pair.slice(3)}.
            </li>
          ))}
        </ul>
      )}
    </Popover>
  );
}

const listMissing = ({ needs }: MethodologyTemplateSummary) => needs.filter(({ missing }) => missing);

/** Page of templates from published methodologies, with their levels on a data store. */
export function TemplatesPage() {
  const chosen = getChosenStore();
  const templates = useAnswer('listMethodologyTemplates', { query: { store_id: chosen } });
  const store = findStoreOfDocument(useStores().data?.stores, chosen ?? null);
  const indices = useList('indices');
  const takenIds = new Set(indices.data?.indices.map(({ id }) => id));
  return (
    <Page
      title="Templates"
      above={[{ address: '/', text: 'Indices' }]}
      subtitle={
        <span>
          Published methodologies as index documents, with their level on {store?.name ?? 'the data store'} over the
          last three years.
          {typeof store?.identifiers === 'number' &&
            ` The store has ${countValues(store.identifiers, 'security', 'securities')}.`}
        </span>
      }
    >
      <Answered resource={templates} what="the templates">
        {({ templates: all }) => <Gallery key={chosen} templates={all} taken={takenIds} store={chosen} />}
      </Answered>
    </Page>
  );
}

interface GalleryProps {
  readonly templates: readonly MethodologyTemplateSummary[];
  readonly taken: ReadonlySet<string>;
  /** Data store in the address; undefined for the served store. */
  readonly store: string | undefined;
}

/** Number of levels that are requested at the same time. Each request runs a backtest. */
const REQUESTS = 3;

/** Number of cards on the first screen of a wide window. */
const FIRST_SCREEN = 12;

/** Renders the templates as cards, grouped by kind. */
function Gallery({ templates, taken, store }: GalleryProps) {
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
  const isPending = ({ id, can_run: canRun }: MethodologyTemplateSummary) => canRun === true && !answered.has(id);
  const pendingTemplates = orderedTemplates.filter(isPending);
  const requestedTemplates = pendingTemplates.slice(0, REQUESTS);
  return (
    <>
      <div class="flow template-tools">
        <input
          type="search"
          class="control template-search"
          placeholder="Search"
          aria-label="Search templates"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <StoreSelect />
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
        {(!isRunnable || pendingTemplates.length === 0) && (
          <span class="quiet">
            {foundTemplates.length} of {countValues(templates.length, 'template')}
          </span>
        )}
      </div>
      {groups
        .filter(({ cards }) => cards.length > 0)
        .map(({ value, text, cards }) => (
          <Section
            key={value}
            title={text}
            aside={cards.some(isPending) ? undefined : formatRunnable(cards, cards.filter(canRunHere).length)}
          >
            <ul class="pile gap-3 templates">
              {cards.map((template) => (
                <Card
                  key={template.id}
                  template={template}
                  taken={taken}
                  store={store}
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

/** Returns the templates of a kind. Those that the store supports come first. */
const listRunnableFirst = (templates: Templates, kind: Kind): Templates => {
  const kindTemplates = templates.filter((template) => template.kind === kind);
  return [
    ...kindTemplates.filter(({ can_run: canRun }) => canRun === true),
    ...kindTemplates.filter(({ can_run: canRun }) => canRun !== true),
  ];
};

/** Describes how many templates of a group work with the store. */
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

interface CardProps extends Pick<GalleryProps, 'taken' | 'store'> {
  readonly template: MethodologyTemplateSummary;
  readonly isAsked: boolean;
  /** True if the card is on the first screen. */
  readonly isFirst: boolean;
  /** @param problem reason why the template cannot be computed; null if there is none */
  onAnswer(problem: string | null): void;
}

function Card({ template, taken, store, isAsked, isFirst, onAnswer }: CardProps) {
  const { id, title, style, source, can_run: canRun, target_count: target } = template;
  const level = useAnswer(
    'getMethodologyTemplateLevel',
    isAsked ? { params: { methodology_id: id }, query: { store_id: store } } : null,
    { follows: false },
  );
  const isDone = level.data !== undefined || level.trouble !== null;
  const problem = template.problem ?? level.data?.problem ?? level.trouble?.message ?? null;
  useEffect(() => {
    if (isDone) onAnswer(problem);
  }, [isDone, problem]);
  const reasonId = useId();
  const address = formatAddress('/console/indices/new', {
    template: id,
    id: findFreeId(template, taken),
    store: store ?? null,
  });
  return (
    <li class="frame gap-2 template" aria-busy={isFirst && isAsked && !isDone}>
      <header>
        <h3>{title}</h3>
        <State template={template} problem={problem} />
      </header>
      <p>{style}</p>
      <p class="quiet template-source">
        {source.publisher}, <cite>{source.title}</cite>, {source.date}
      </p>
      {canRun === false && template.problem === null && <Missing template={template} id={reasonId} />}
      <footer>
        {canRun === true && !isDone && <span class="quiet template-waits">Computing the level</span>}
        <Thumbnail values={level.data?.level?.data ?? []} title={title}>
          <Holdings count={level.data?.constituents ?? null} target={target} />
        </Thumbnail>
        {problem !== null && (
          <p class="small second template-reason" id={reasonId}>
            {problem}
          </p>
        )}
        <div class="gap-1 template-actions">
          <Details template={template} />
          {may('write') && (
            <Opening address={address} reasonId={canRun === false || problem !== null ? reasonId : null} />
          )}
        </div>
      </footer>
    </li>
  );
}

interface OpeningProps {
  /** Address of the designer with the documents of the template. */
  readonly address: string;
  /** Id of the element with the reason why the template cannot run; null if it can. */
  readonly reasonId: string | null;
}

/** Renders a link that opens a template in the designer. A template that cannot run must be changed there first. */
function Opening({ address, reasonId }: OpeningProps) {
  if (reasonId === null) return <LinkButton href={address}>Use</LinkButton>;
  return (
    <LinkButton kind="bare" href={address} aria-describedby={reasonId}>
      Adapt
    </LinkButton>
  );
}

interface ThumbnailProps {
  readonly values: readonly (number | null)[];
  readonly title: string;
  /** Text after the change of the level. */
  readonly children: ComponentChildren;
}

function Thumbnail({ values, title, children }: ThumbnailProps) {
  const [first, last] = [values[0], values.at(-1)];
  if (first == null || last == null) return null;
  return (
    <span class="inline-line gap-2">
      <Sparkline values={values} label={`Level of ${title} over the last three years`} />
      <span>
        {formatChange(last / first - 1)} <span class="quiet">in 3 years</span>
        {children}
      </span>
    </span>
  );
}

interface HoldingsProps {
  /** Number of constituents of the last composition; null for an index of other indices. */
  readonly count: number | null;
  /** Number of securities that the rules keep; null without a number. */
  readonly target: number | null;
}

/** Renders the number of constituents. A store with fewer securities than the rules keep is a warning. */
function Holdings({ count, target }: HoldingsProps) {
  if (count === null) return null;
  const isShort = target !== null && count < target;
  return (
    <>
      <span class="quiet">,</span>{' '}
      <span class={isShort ? 'field-warning' : 'quiet'}>
        holds&nbsp;{formatCount(count)}
        {isShort && `\u00A0of\u00A0${formatCount(target)}`}
      </span>
    </>
  );
}

interface StateProps extends Pick<CardProps, 'template'> {
  /** Error because of which the template cannot be computed on the store; null if there is none. */
  readonly problem: string | null;
}

/** Renders a mark if the template cannot run on the store. */
function State({ template: { can_run: canRun }, problem }: StateProps) {
  return canRun !== false && problem === null ? null : <Badge>not on this store</Badge>;
}
