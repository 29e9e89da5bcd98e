import type { AcceptedFinding, Approval, ChangedField, DefinitionChange } from '#clients/typescript/divisor.js';
import { Banner } from '../../components/banner.js';
import { Entries } from '../../components/entries.js';
import { Facts, type Fact } from '../../components/facts.js';
import { ChangeTable, Sentences, WrittenTable } from '../../components/versions/change-table.js';
import { actionValue } from '../../words/actions.js';
import { indexAddress, nameAddress } from '../../words/addresses.js';
import { change, count, decimal, figure, percent } from '../../words/numbers.js';
import { typeWords } from '../actions/action-states.js';
import { Effects } from '../actions/effects.js';
import { Sources } from '../actions/sources.js';
import { checkWords } from '../schedules/step-words.js';

type RequestFacts = NonNullable<Approval['facts']>;
type FactsOf<K extends RequestFacts['kind']> = Extract<RequestFacts, { readonly kind: K }>;

/** Renders the values that a request would change, before and after the change. */
export function RequestFactsView({ facts }: { readonly facts: RequestFacts }) {
  switch (facts.kind) {
    case 'publish':
      return <PublicationFacts facts={facts} />;
    case 'restate':
      return <RestatementFacts facts={facts} />;
    case 'amend':
      return <AmendmentFacts facts={facts} />;
    case 'action':
      return <Action facts={facts} />;
    case 'override':
      return <Overridden facts={facts} />;
    case 'waive':
      return <WaiverFacts facts={facts} />;
  }
}

const VARIANTS = ['price', 'total', 'net'] as const;

const spanOf = (closes: number, first: string, last: string): string =>
  first === last ? `${count(closes)}, ${first}` : `${count(closes)}, ${first} to ${last}`;

function PublicationFacts({
  facts: { published, first, last, close, previous },
}: {
  readonly facts: FactsOf<'publish'>;
}) {
  const levels = VARIANTS.flatMap((variant): readonly Fact[] => {
    const [value, before] = [close[variant], previous?.[variant] ?? null];
    if (value === null) return [];
    const move = before === null ? '' : `, ${change(value / before - 1)} since ${previous?.date}`;
    return [[`Level (${variant})`, `${decimal(value, 4)}${move}`]];
  });
  return <Facts facts={[['New closes', spanOf(published, first, last)], ...levels]} />;
}

function RestatementFacts({ facts }: { readonly facts: FactsOf<'restate'> }) {
  const { restated, published, first, last, levels_changed: changed, latest, largest, reason } = facts;
  return (
    <>
      <Facts
        facts={[
          ['Restated closes', published === 0 ? spanOf(restated, first, last) : count(restated)],
          ['New closes', published === 0 ? null : count(published)],
          ['Dates', published === 0 ? null : `${first} to ${last}`],
          ['Closes with another level', count(changed)],
          ['Largest change', largest && `${decimal(largest.change_bps)} bps on ${largest.date}`],
          ['Its level', largest && `${largest.variant} ${decimal(largest.published, 4)} → ${decimal(largest.run, 4)}`],
          ['Reason', reason],
        ]}
      />
      <WrittenTable label={`Levels of ${latest.date}`} heads={[latest.date, 'Published', 'New', 'Change']}>
        {VARIANTS.map((variant) => {
          const [before, after] = [latest.before[variant], latest.after[variant]];
          return (
            (before !== null || after !== null) && (
              <tr key={variant}>
                <th scope="row">{variant}</th>
                <td>{decimal(before, 4)}</td>
                <td>{decimal(after, 4)}</td>
                <td>{before === null || after === null ? '–' : change(after / before - 1, 4)}</td>
              </tr>
            )
          );
        })}
      </WrittenTable>
    </>
  );
}

const AmendmentFacts = ({ facts: { index_id: index, deletes, changes } }: { readonly facts: FactsOf<'amend'> }) =>
  deletes ? (
    <Banner kind="warning" title={`${index} is deleted. Its published log is kept.`} />
  ) : (
    <>
      {changes.map((one) => (
        <DefinitionChanged key={one.effective_from ?? ''} changed={one} />
      ))}
    </>
  );

function DefinitionChanged({ changed }: { readonly changed: DefinitionChange }) {
  const { effective_from: from, announced, reason, rebalance, fields, removed, added } = changed;
  return (
    <>
      {from === null ? (
        <Banner kind="warning" title="The whole history changes: published closes that differ have to be restated." />
      ) : (
        <Facts
          facts={[
            ['Effective from', from],
            ['Announced', announced],
            ['Rebalances at once', rebalance ? 'yes' : null],
            ['Reason', reason],
          ]}
        />
      )}
      <ChangeTable
        label={from === null ? 'Changed fields' : `Changed fields from ${from}`}
        changes={fields.map(asChange)}
      />
      <Sentences removed={removed} added={added} />
    </>
  );
}

const asChange = ({ path, before, after }: ChangedField) => ({ path, op: 'replace' as const, before, after });

function Action({ facts }: { readonly facts: FactsOf<'action'> }) {
  const { decision, terms, sources, effects } = facts;
  const { type, identifier, value, ex_date: date, pay_date: paid, cash, related } = terms;
  return (
    <>
      <Facts
        facts={[
          ['Decision', decision],
          ['Action', `${typeWords(type)} of ${identifier}`],
          ['Terms', actionValue(type, value)],
          ['Cash per share', cash === null ? null : figure(cash)],
          ['Ex-date', date],
          ['Paid', paid],
          ['Related security', related],
        ]}
      />
      {sources.length > 0 && <Sources terms={terms} sources={sources} />}
      <Effects effects={effects} />
    </>
  );
}

const Overridden = ({ facts }: { readonly facts: FactsOf<'override'> }) => (
  <Facts
    facts={[
      ['Security', <a href={nameAddress(facts.identifier)}>{facts.identifier}</a>],
      ['Session', facts.date],
      ['Price now', facts.before === null ? null : figure(facts.before)],
      ['Price requested', facts.price === null ? 'that of the source' : figure(facts.price)],
      ['Move', facts.change === null ? null : change(facts.change)],
      ['Reason', facts.reason],
    ]}
  />
);

function WaiverFacts({ facts }: { readonly facts: FactsOf<'waive'> }) {
  const { check, index_id: index, identifier, date, reason, findings, total } = facts;
  return (
    <>
      <Facts
        facts={[
          ['Check', checkWords(check)],
          ['Index', index ?? 'every index of the schedule'],
          ['Security', identifier],
          ['Session', date],
          ['Reason', reason],
        ]}
      />
      <Entries
        label="Findings"
        entries={findings.map((finding) => ({
          key: `${finding.index_id} ${finding.identifier}`,
          title: <a href={indexAddress(finding.index_id)}>{finding.index_id}</a>,
          aside: measureText(finding),
          text: finding.message,
        }))}
      />
      {total > findings.length && <p class="quiet">And {count(total - findings.length)} more.</p>}
    </>
  );
}

/** Formats the value that a check measured, for example `905.54%, limit 25.00%`. */
function measureText({ measure }: AcceptedFinding): string {
  if (measure === null) return '';
  const write = (value: number) =>
    measure.unit === 'fraction'
      ? percent(value)
      : `${measure.unit === 'bp' ? decimal(value) : figure(value)} ${measure.unit}`;
  return `${write(measure.value)}, limit ${write(measure.limit)}`;
}
