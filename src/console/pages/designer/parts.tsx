import type { CalendarList } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { FieldGrid } from '../../components/form/field.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import type { Path } from '../../words/paths.js';
import { DocumentField } from './document-field.js';
import { useWorkshop } from './draft.js';

interface PartProps {
  readonly title: string;
  readonly help?: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of the definition. */
export function Part({ title, help, aside, children }: PartProps) {
  return (
    <section class="designer-part" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {help !== undefined && <p class="quiet">{help}</p>}
      {children}
    </section>
  );
}

interface FieldsProps {
  readonly fields: readonly FieldSpec[];
  readonly within: Path;
}

export function Fields({ fields, within }: FieldsProps) {
  return (
    <FieldGrid>
      {fields.map((spec) => (
        <DocumentField key={spec.name} spec={spec} within={within} />
      ))}
    </FieldGrid>
  );
}

export function Identity({ calendars }: { readonly calendars: CalendarList | undefined }) {
  const { isStored } = useWorkshop();
  const codes = calendars?.calendars.map(({ code }) => code) ?? [];
  return (
    <Part title="Index">
      <FieldGrid>
        <DocumentField
          within={[]}
          isDisabled={isStored}
          spec={{
            name: 'id',
            label: 'Id',
            kind: 'text',
            isRequired: true,
            help: 'Letters, digits, dashes, underscores',
          }}
        />
        <DocumentField within={[]} spec={{ name: 'name', label: 'Name', kind: 'text', isRequired: true }} />
        <DocumentField
          within={[]}
          spec={{
            name: 'calendar',
            label: 'Calendar',
            kind: 'choice',
            choices: codes,
            isRequired: true,
            help: 'Sessions of this exchange',
          }}
        />
        <DocumentField
          within={[]}
          spec={{
            name: 'base_date',
            label: 'Base date',
            kind: 'date',
            isRequired: true,
            help: 'First rebalance: the first session on or after it',
          }}
        />
        <DocumentField
          within={[]}
          spec={{ name: 'base_value', label: 'Base value', kind: 'number', otherwise: 100, unit: 'points' }}
        />
        <DocumentField within={[]} spec={{ name: 'currency', label: 'Currency', kind: 'text', otherwise: 'USD' }} />
        <DocumentField within={[]} spec={{ name: 'description', label: 'Description', kind: 'text' }} />
      </FieldGrid>
    </Part>
  );
}

const UNIVERSE = ['universe'] as const;
const UNIVERSE_KIND: FieldSpec = {
  name: 'kind',
  label: 'Kind',
  kind: 'choice',
  choices: ['all', 'named', 'list', 'index', 'watchlist'],
  otherwise: 'all',
};

export function Universe() {
  const { draft, universes } = useWorkshop();
  const kind = draft.at([...UNIVERSE, 'kind']) ?? 'all';
  return (
    <Part title="Universe" help="Where selection begins">
      <FieldGrid>
        <DocumentField within={UNIVERSE} spec={UNIVERSE_KIND} />
        {kind === 'named' && (
          <DocumentField
            within={UNIVERSE}
            spec={{ name: 'id', label: 'Universe', kind: 'choice', choices: universes, isRequired: true }}
          />
        )}
        {kind === 'index' && (
          <DocumentField
            within={UNIVERSE}
            spec={{
              name: 'id',
              label: 'Index',
              kind: 'text',
              isRequired: true,
              help: 'Its constituents at each decision',
            }}
          />
        )}
        {kind === 'watchlist' && (
          <DocumentField
            within={UNIVERSE}
            spec={{
              name: 'watchlist_id',
              label: 'Watchlist',
              kind: 'text',
              isRequired: true,
              help: 'Its names whenever the index is computed',
            }}
          />
        )}
        {kind === 'list' && (
          <DocumentField
            within={UNIVERSE}
            spec={{
              name: 'identifiers',
              label: 'Names',
              kind: 'list',
              isRequired: true,
              help: 'Identifiers, separated by commas or lines',
            }}
          />
        )}
      </FieldGrid>
    </Part>
  );
}

const TREATMENT: readonly FieldSpec[] = [
  {
    name: 'dividends',
    label: 'Dividends',
    kind: 'choice',
    choices: ['price', 'total', 'net'],
    otherwise: 'price',
    help: 'Left out, reinvested, or reinvested after tax',
  },
  {
    name: 'withholding_tax',
    label: 'Withholding tax',
    kind: 'number',
    otherwise: 0,
    unit: 'fraction',
    help: 'Of dividends, in the net variant',
  },
  {
    name: 'special_dividends',
    label: 'Special dividends',
    kind: 'choice',
    choices: ['reinvest', 'ignore'],
    otherwise: 'reinvest',
  },
  { name: 'splits', label: 'Splits', kind: 'choice', choices: ['apply', 'ignore'], otherwise: 'apply' },
  {
    name: 'delisting',
    label: 'Delisting',
    kind: 'choice',
    choices: ['last_price', 'zero', 'action_value'],
    otherwise: 'last_price',
    help: 'What a name that leaves is worth',
  },
  { name: 'spin_offs', label: 'Spin-offs', kind: 'choice', choices: ['zero_price', 'ignore'], otherwise: 'zero_price' },
  {
    name: 'missing_prices',
    label: 'Missing prices',
    kind: 'choice',
    choices: ['carry', 'exclude', 'fail'],
    otherwise: 'carry',
  },
  {
    name: 'max_stale_sessions',
    label: 'Longest gap',
    kind: 'integer',
    otherwise: 10,
    unit: 'sessions',
    help: 'Without a bar for longer, a name leaves',
  },
  {
    name: 'stale_targets',
    label: 'Trades without a bar',
    kind: 'choice',
    choices: ['carry', 'defer'],
    otherwise: 'carry',
    help: 'At the carried price, or at the next bar',
  },
];

export function Treatment() {
  return (
    <details class="designer-part">
      <summary>
        <h2>Events and gaps</h2>
      </summary>
      <Fields fields={TREATMENT} within={['pipeline', 'treatment']} />
    </details>
  );
}

const FREQUENCIES = ['none', 'daily', 'weekly', 'monthly', 'quarterly', 'semi_annual', 'annual', 'custom'];
const ANCHORS = ['first_session', 'last_session', 'third_friday', 'nth_weekday', 'day_of_month'];

const REBALANCE = ['rebalance'] as const;

export function Schedule() {
  const { draft } = useWorkshop();
  const frequency = draft.at([...REBALANCE, 'frequency']);
  const anchor = draft.at([...REBALANCE, 'anchor']);
  const isDated = frequency !== 'none' && frequency !== 'daily' && frequency !== 'custom';
  const fields: readonly (FieldSpec | false)[] = [
    { name: 'frequency', label: 'Frequency', kind: 'choice', choices: FREQUENCIES, otherwise: 'quarterly' },
    isDated &&
      frequency !== 'weekly' && {
        name: 'anchor',
        label: 'Day',
        kind: 'choice',
        choices: ANCHORS,
        otherwise: 'last_session',
      },
    (anchor === 'nth_weekday' || frequency === 'weekly') && {
      name: 'weekday',
      label: 'Weekday',
      kind: 'integer',
      help: '0 Monday to 4 Friday',
    },
    anchor === 'nth_weekday' && { name: 'nth', label: 'Which', kind: 'integer', help: 'Of the month, 5 the last' },
    anchor === 'day_of_month' && { name: 'day', label: 'Day of the month', kind: 'integer' },
    isDated && {
      name: 'roll',
      label: 'Where it is no session',
      kind: 'choice',
      choices: ['following', 'preceding', 'unadjusted'],
      otherwise: 'following',
    },
    {
      name: 'effective_lag',
      label: 'Notice',
      kind: 'integer',
      otherwise: 0,
      unit: 'sessions',
      help: 'Between decision and effect',
    },
    isDated && {
      name: 'months',
      label: 'Months',
      kind: 'json',
      help: 'As [3, 6, 9, 12]; those that go with the frequency unless given',
    },
    frequency === 'custom' && {
      name: 'dates',
      label: 'Dates',
      kind: 'list',
      isRequired: true,
      help: 'Effective dates, YYYY-MM-DD',
    },
  ];
  return (
    <Part title="Rebalance">
      <Fields fields={fields.filter((field) => field !== false)} within={REBALANCE} />
    </Part>
  );
}
