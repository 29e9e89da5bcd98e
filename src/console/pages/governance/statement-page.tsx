import './statement.css';
import { type ComponentChildren, Fragment } from 'preact';
import type { BenchmarkStatement } from '#clients/typescript/divisor.js';
import { Button, LinkButton } from '../../components/controls/button.js';
import { Answered, Banner } from '../../components/feedback.js';
import { Facts, Metrics } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { Sentences, WrittenTable } from '../../components/versions/change-table.js';
import { attempt } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { formatAddress } from '../../state/location.js';
import { usePlainSentences } from '../../state/market.js';
import { may, service, useResource } from '../../state/service.js';
import { formatGovernanceAddress, formatIndexAddress } from '../../words/addresses.js';
import { PRICE_BASIS } from '../../words/datapoints.js';
import { formatMoment } from '../../words/dates.js';
import { formatCount, formatFigure, MISSING_TEXT } from '../../words/numbers.js';
import { formatLevelChange } from '../../words/publication.js';
import { ACTION_WORDS } from '../approvals/requests.js';
import { formatCheck } from '../schedules/steps.js';
import { KIND_TEXTS } from './open-work.js';
import { DECISION_WORDS } from './registers.js';

/** Maximum number of errors in a statement; the register contains all of them. */
const ERRORS_MAX = 50;

/** Renders the counts of the published closes, restatements, errors and procedures. */
function StatementFigures({ statement }: { readonly statement: BenchmarkStatement }) {
  const { version, calendar, publication } = statement;
  return (
    <Metrics
      label="Figures of the statement"
      metrics={[
        {
          term: 'Published closes',
          value: publication === null ? 'none' : formatCount(publication.closes),
          note: publication === null ? undefined : `${publication.first} to ${publication.through}`,
        },
        {
          term: 'Restated closes',
          value: publication === null ? MISSING_TEXT : formatCount(publication.restatements),
          note: publication === null ? undefined : 'published again after an error',
        },
        {
          term: 'Errors',
          value: formatCount(statement.errors.length),
          note: describeErrorCount(statement.errors.length),
        },
        {
          term: 'Procedures',
          value: formatCount(statement.procedures.length),
          note: `${new Set(statement.procedures.map(({ kind }) => kind)).size} of ${Object.keys(KIND_TEXTS).length} kinds`,
        },
        { term: 'Definition', value: `version ${version}` },
        { term: 'Calendar', value: calendar.code, note: `sessions known to ${calendar.covered_to}` },
      ]}
    />
  );
}

/** Describes the number of errors. An error can concern many closes, all of which are restated. */
function describeErrorCount(count: number): string {
  if (count === 0) return 'in published closes';
  return count < ERRORS_MAX ? 'each of one or more closes' : `the newest ${ERRORS_MAX}`;
}

const MARKDOWN = 'text/markdown';

/** Page of the benchmark statement of an index, which can be printed or saved. */
export function StatementPage({ id }: { readonly id: string }) {
  const params = { index_id: id };
  const statement = useResource(`statement ${id}`, (signal) => service.value.call('getStatement', { params, signal }));
  return (
    <Page
      title={`Statement of ${id}`}
      above={[{ address: '/console/governance', text: 'Governance' }]}
      subtitle={statement.data && `generated ${formatMoment(statement.data.generated_at)}`}
      actions={
        <>
          <Button onClick={() => print()}>Print or save as PDF</Button>
          <Button onClick={() => void attempt(() => saveMarkdown(id))}>Download as Markdown</Button>
        </>
      }
    >
      <Answered resource={statement} what="the statement">
        {(found) => (
          <div class="statement">
            <div>
              <Statement statement={found} />
            </div>
            <Contents />
          </div>
        )}
      </Answered>
    </Page>
  );
}

const PARTS = [
  'Purpose',
  'Methodology',
  'Inputs',
  'Discretion',
  'Limitations',
  'Changes and reviews',
  'Errors',
  'Procedures',
] as const;

/** Renders links to the sections of the statement. */
const Contents = () => (
  <nav class="statement-contents" aria-label="Contents">
    {PARTS.map((part) => (
      <button
        key={part}
        type="button"
        onClick={() => document.querySelector(`section[aria-label="${part}"]`)?.scrollIntoView()}
      >
        {part}
      </button>
    ))}
  </nav>
);

async function saveMarkdown(id: string): Promise<void> {
  const bytes = await service.value.download('getStatement', MARKDOWN, { params: { index_id: id } });
  saveFile(`${id}-statement.md`, bytes);
}

function Statement({ statement }: { readonly statement: BenchmarkStatement }) {
  const { index_id: id, name, purpose, methodology, inputs, limitations } = statement;
  const formatSentence = usePlainSentences();
  return (
    <>
      <StatementFigures statement={statement} />
      <UnpublishedVersion statement={statement} />
      <Section title="Purpose">
        <p>
          {purpose ?? (
            <>
              To be completed: <a href={`${formatIndexAddress(id)}/edit`}>the description of {name}</a> states no
              purpose.
            </>
          )}{' '}
          <a href={formatIndexAddress(id)}>Open {name}</a>
        </p>
      </Section>
      <SentenceList title="Methodology" sentences={methodology.map(formatSentence)} isOrdered />
      <Section title="Inputs">
        <Facts
          facts={[
            ['Underlying indices', inputs.indices.length === 0 ? null : inputs.indices.join(', ')],
            ['Price basis', inputs.adjustment && PRICE_BASIS[inputs.adjustment]],
          ]}
        />
        <List items={inputs.hierarchy} isOrdered />
      </Section>
      <Discretion {...statement.discretion} />
      <SentenceList title="Limitations" sentences={limitations} />
      <Changes statement={statement} />
      <Errors errors={statement.errors} />
      <Section title="Procedures">
        <List
          none={
            <>
              To be completed: no procedure applies to the index.{' '}
              <a href={formatGovernanceAddress('procedures', 'new')}>Write a procedure</a>
            </>
          }
          items={statement.procedures.map(({ procedure_id: procedureId, name: title, kind }) => (
            <>
              <a href={formatGovernanceAddress('procedures', procedureId)}>{title}</a>
              {title.toLowerCase() !== kind && <span class="quiet"> {kind}</span>}
            </>
          ))}
        />
      </Section>
    </>
  );
}

/** Warns if a newer version of the definition than the described version is not published. */
function UnpublishedVersion({ statement }: { readonly statement: BenchmarkStatement }) {
  const { index_id: id, version, latest_version: latest } = statement;
  if (version === latest) return null;
  const query = { tab: 'versions', version: String(latest), against: String(version) };
  return (
    <Banner
      kind="warning"
      title={`Version ${latest} of the definition is not published`}
      action={
        <>
          <LinkButton href={formatAddress(formatIndexAddress(id), query)}>
            Compare versions {version} and {latest}
          </LinkButton>
          {may('publish') && (
            <LinkButton href={formatAddress(formatIndexAddress(id), { tab: 'publication' })}>Publish</LinkButton>
          )}
        </>
      }
    >
      <span>This statement describes version {version}, which the published closes follow.</span>
    </Banner>
  );
}

interface ListProps {
  readonly items: readonly ComponentChildren[];
  readonly isOrdered?: boolean;
  /** Sentence in place of an empty list. */
  readonly none?: ComponentChildren;
}

function List({ items, isOrdered = false, none = 'None.' }: ListProps) {
  if (items.length === 0) return <p class="quiet">{none}</p>;
  const rows = items.map((item, k) => <li key={k}>{item}</li>);
  return isOrdered ? <ol class="methodology">{rows}</ol> : <ul>{rows}</ul>;
}

interface SentenceListProps {
  readonly title: string;
  readonly sentences: readonly string[];
  readonly isOrdered?: boolean;
}

const SentenceList = ({ title, sentences, isOrdered = false }: SentenceListProps) => (
  <Section title={title}>
    <List items={sentences} isOrdered={isOrdered} />
  </Section>
);

function Discretion({ approvals, judgements, overrides }: BenchmarkStatement['discretion']) {
  return (
    <Section title="Discretion" aside={<a href={formatGovernanceAddress('judgements')}>all judgements</a>}>
      <List
        none={`No change needs the approval of a second person.${judgements.length + overrides.length === 0 ? ' No judgement and no price override is recorded.' : ''}`}
        items={approvals.map(({ action, persons }) => `${ACTION_WORDS[action]}: ${persons} persons`)}
      />
      {judgements.length > 0 && (
        <Rows
          label="Judgements"
          heads={['Session', 'Decision', 'By', 'Reason']}
          rows={judgements.map(({ date, action, check, author, approved_by: approvers, reason, findings }) => [
            date,
            check === null ? DECISION_WORDS[action] : `accepted: ${formatCheck(check)}`,
            formatPersons(author, approvers),
            [reason, ...findings.map(({ index_id: index, message }) => `${index}: ${message}`)].join(' '),
          ])}
        />
      )}
      {overrides.length > 0 && (
        <Rows
          label="Price overrides"
          heads={['Session', 'Security', 'Price', 'By', 'Reason']}
          rows={overrides.map(({ date, identifier, price, author, approved_by: approvers, reason }) => [
            date,
            identifier,
            formatFigure(price),
            formatPersons(author, approvers),
            reason,
          ])}
        />
      )}
    </Section>
  );
}

/** Formats the author and the approvers, for example `ada, approved by ben`. */
const formatPersons = (author: string, approvers: readonly string[]): string =>
  approvers.length === 0 ? author : `${author}, approved by ${approvers.join(' and ')}`;

function Changes({ statement: { changes, amendments, review } }: { readonly statement: BenchmarkStatement }) {
  const formatSentence = usePlainSentences();
  return (
    <Section title="Changes and reviews">
      <Facts
        facts={[
          ['Reviews', review.frequency],
          ['Coming', review.upcoming.length === 0 ? null : <Dates dates={review.upcoming} />],
        ]}
      />
      {amendments.length > 0 && (
        <Rows
          label="Amendments"
          heads={['Effective from', 'Announced', 'Reason']}
          rows={amendments.map(({ effective_from: from, announced, reason }) => [from, announced, reason])}
        />
      )}
      <Rows
        label="Versions of the definition"
        heads={['Version', 'Written', 'What changed']}
        rows={changes.map(({ version, at, author, note, removed, added }) => [
          version,
          <>
            {formatMoment(at)} by {author}
          </>,
          <>
            {note && <p class="quiet">Reason: {note}</p>}
            {removed.length + added.length === 0 && (
              <span class="quiet">{version === 1 ? 'Created.' : ' The methodology did not change.'}</span>
            )}
            <Sentences removed={removed.map(formatSentence)} added={added.map(formatSentence)} />
          </>,
        ])}
      />
    </Section>
  );
}

/** Renders dates, none of which is broken over two lines. */
const Dates = ({ dates }: { readonly dates: readonly string[] }) => (
  <>
    {dates.map((date, k) => (
      <Fragment key={date}>
        {k > 0 && ' '}
        <span class="whole">
          {date}
          {k < dates.length - 1 && ','}
        </span>
      </Fragment>
    ))}
  </>
);

function Errors({ errors }: Pick<BenchmarkStatement, 'errors'>) {
  return (
    <Section title="Errors" aside={<a href={formatGovernanceAddress('errors')}>register of errors</a>}>
      {errors.length === 0 ? (
        <p class="quiet">No error in published closes.</p>
      ) : (
        <Rows
          label="Differences from published closes"
          heads={['Dates', 'Decision', 'Largest change', 'Notice']}
          rows={errors.map(({ first, last, decision, largest, notice }) => [
            first === last ? first : `${first} to ${last}`,
            decision,
            largest && formatLevelChange(largest.change_bps),
            notice,
          ])}
        />
      )}
    </Section>
  );
}

interface RowsProps {
  readonly label: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
}

const Rows = ({ label, heads, rows }: RowsProps) => (
  <>
    <h3>{label}</h3>
    <WrittenTable label={label} heads={heads}>
      {rows.map((cells, k) => (
        <tr key={k}>
          {cells.map((cell, at) => (
            <td key={at}>{cell ?? '–'}</td>
          ))}
        </tr>
      ))}
    </WrittenTable>
  </>
);
