import type { AcceptedFinding, Approval, ChangedField, DefinitionChange } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Banner } from '../../components/banner.js';
import { Entries } from '../../components/entries.js';
import { Facts, type Fact } from '../../components/facts.js';
import { ChangeTable, Sentences, WrittenTable } from '../../components/versions/change-table.js';
import { useNames } from '../../state/names.js';
import { formatActionValue, formatType } from '../../words/actions.js';
import { formatIndexAddress, formatSecurityAddress } from '../../words/addresses.js';
import {
  formatChange,
  formatCount,
  formatDecimal,
  formatFigure,
  formatMoney,
  formatPercent,
} from '../../words/numbers.js';
import { Effects } from '../actions/effects.js';
import { Sources } from '../actions/sources.js';
import { formatCheck } from '../schedules/step-words.js';

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

const formatSpan = (closes: number, first: string, last: string): string =>
  first === last ? `${formatCount(closes)}, ${first}` : `${formatCount(closes)}, ${first} to ${last}`;

function PublicationFacts({
  facts: { published, first, last, close, previous },
}: {
  readonly facts: FactsOf<'publish'>;
}) {
  const levels = VARIANTS.flatMap((variant): readonly Fact[] => {
    const [value, before] = [close[variant], previous?.[variant] ?? null];
    if (value === null) return [];
    const moveText = before === null ? '' : `, ${formatChange(value / before - 1)} since ${previous?.date}`;
    return [[`Level (${variant})`, `${formatDecimal(value, 4)}${moveText}`]];
  });
  return <Facts facts={[['New closes', formatSpan(published, first, last)], ...levels]} />;
}

function RestatementFacts({ facts }: { readonly facts: FactsOf<'restate'> }) {
  const { restated, published, first, last, levels_changed: changed, latest, largest, reason } = facts;
  return (
    <>
      <Facts
        facts={[
          ['Restated closes', published === 0 ? formatSpan(restated, first, last) : formatCount(restated)],
          ['New closes', published === 0 ? null : formatCount(published)],
          ['Dates', published === 0 ? null : `${first} to ${last}`],
          ['Closes with another level', formatCount(changed)],
          ['Largest change', largest && `${formatDecimal(largest.change_bps)} bp on ${largest.date}`],
          [
            'Its level',
            largest && `${largest.variant} ${formatDecimal(largest.published, 4)} → ${formatDecimal(largest.run, 4)}`,
          ],
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
                <td>{formatDecimal(before, 4)}</td>
                <td>{formatDecimal(after, 4)}</td>
                <td>{before === null || after === null ? '–' : formatChange(after / before - 1, 4)}</td>
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
  const currency = useNames([identifier], date).get(identifier)?.currency ?? null;
  return (
    <>
      <Facts
        facts={[
          ['Decision', decision],
          ['Action', `${formatType(type)} of ${identifier}`],
          ['Terms', formatActionValue(type, value, currency)],
          ['Cash per share', cash === null ? null : formatMoney(formatFigure(cash), currency)],
          ['Ex-date', date],
          ['Pay date', paid],
          ['Related security', related],
        ]}
      />
      {sources.length > 0 && <Sources terms={terms} sources={sources} currency={currency} />}
      <Effects effects={effects} />
    </>
  );
}

const Overridden = ({ facts }: { readonly facts: FactsOf<'override'> }) => (
  <Facts
    facts={[
      ['Security', <a href={formatSecurityAddress(facts.identifier)}>{facts.identifier}</a>],
      ['Session', facts.date],
      ['Price now', facts.before === null ? null : formatFigure(facts.before)],
      ['Price requested', facts.price === null ? 'that of the source' : formatFigure(facts.price)],
      ['Move', facts.change === null ? null : formatChange(facts.change)],
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
          ['Check', formatCheck(check)],
          ['Index', index ?? 'every index of the schedule'],
          ['Security', identifier],
          ['Session', date],
          ['Reason', reason],
        ]}
      />
      {findings.length > 0 && (
        <Entries
          label="Findings"
          entries={findings.map((finding) => ({
            key: `${finding.index_id} ${finding.identifier}`,
            title:
              finding.identifier === null ? (
                <a href={formatIndexAddress(finding.index_id)}>{finding.index_id}</a>
              ) : (
                <a href={formatSecurityAddress(finding.identifier)}>{finding.identifier}</a>
              ),
            badge: finding.identifier !== null && index === null && <Badge>{finding.index_id}</Badge>,
            aside: measureText(finding, check),
            text: check === 'moves' && finding.measure !== null ? undefined : finding.message,
          }))}
        />
      )}
      {total > findings.length && <p class="quiet">And {formatCount(total - findings.length)} more.</p>}
    </>
  );
}

/** Formats the value that a check measured and its limit, for example `+905.54%, limit 25.00%` for a price move. */
function measureText({ measure }: AcceptedFinding, check: string): string {
  if (measure === null) return '';
  const write = (value: number) =>
    measure.unit === 'fraction'
      ? formatPercent(value)
      : `${measure.unit === 'bp' ? formatDecimal(value) : formatFigure(value)} ${measure.unit}`;
  return `${check === 'moves' ? formatChange(measure.value) : write(measure.value)}, limit ${write(measure.limit)}`;
}
