import type { EventsQuery } from '#contract/events.js';
import type { ActionsView, RebalancePackRequest } from '#clients/typescript/divisor.js';
import { EVENT_KINDS, type EventKind } from '#domain/schedule/index-events.js';
import { readJsonFile, type FlagValues } from '../command-line.js';
import { RUN } from './analytics.js';
import { createViewCommand } from './view-command.js';

const INDEX = { name: 'INDEX', help: 'Id of a stored index.' };
const KINDS = Object.keys(EVENT_KINDS) as EventKind[]; // Object.keys returns plain strings.
const splitList = (text: string | undefined) => text?.split(',');

const readEventsQuery = (flags: FlagValues) => ({
  from: flags.text('from'),
  to: flags.text('to'),
  index_ids: splitList(flags.text('index')),
  kinds: splitList(flags.text('kinds')) as EventsQuery['kinds'] | undefined, // The service refuses unknown kinds.
});

export const events = createViewCommand({
  summary:
    'List dated events: announcements, effective dates, expiries, holidays, early closes and recorded closures. --out FILE.ics writes a calendar.',
  words: [],
  flags: {
    from: { type: 'string', value: 'DATE', help: 'First day. Default: today.' },
    to: { type: 'string', value: 'DATE', help: 'Last day. Default: 366 days after the first.' },
    index: { type: 'string', value: 'IDS', help: 'Ids of indices, separated by commas. Default: all.' },
    kinds: { type: 'string', value: 'KINDS', help: `Any of ${KINDS.join(', ')}, separated by commas.` },
  },
  examples: ['divisor events --kinds announcement,effective', 'divisor events --index CORE-100 --out core.ics'],
  ask: (client, _words, flags) => client.call('listEvents', { query: readEventsQuery(flags) }),
  records: (view) => view.events,
  notices: ({ from, to, covered_from: coveredFrom, covered_to: coveredTo }) => [
    ...(coveredFrom !== null && coveredFrom > from
      ? [`Calendars begin on ${coveredFrom}. Earlier events are missing.`]
      : []),
    ...(coveredTo !== null && coveredTo < to ? [`Calendars end on ${coveredTo}. Later events are missing.`] : []),
  ],
  file: (client, _view, { out, flags }) =>
    out.toLowerCase().endsWith('.ics')
      ? client.download('listEvents', 'text/calendar', { query: readEventsQuery(flags) })
      : undefined,
});

export const actions = createViewCommand({
  summary: 'List past and coming effects of corporate actions on a run of an index: weight, shares, divisor.',
  words: [INDEX],
  flags: {
    ...RUN,
    from: { type: 'string', value: 'DATE', help: 'First ex-date. Default: the first date of the run.' },
    to: { type: 'string', value: 'DATE', help: 'Last ex-date.' },
    choices: { type: 'boolean', help: 'Print a pro forma row for each choice of each action that awaits a decision.' },
  },
  examples: ['divisor actions CORE-100 --from 2024-12-01', 'divisor actions CORE-100 --choices'],
  async ask(client, [index_id = ''], flags) {
    const query = { run_id: flags.text('run-id'), from: flags.text('from'), to: flags.text('to') };
    const view = await client.call('getIndexActions', { params: { index_id }, query });
    const rows: readonly object[] = flags.isSet('choices') === true ? listChoices(view) : view.actions;
    return { ...view, actions: rows };
  },
  records: (view) => view.actions,
});

/** Lists the result of each choice for a security, one per row. */
const listChoices = ({ actions: indexActions }: ActionsView) =>
  indexActions
    .filter(({ awaits_decision: awaits }) => awaits)
    .flatMap((action) =>
      action.choices.map(({ received, ...choice }) => ({
        ex_date: action.ex_date,
        identifier: action.identifier,
        type: action.type,
        election_date: action.election_date,
        election_default: action.election_default,
        weight_before: action.weight_before,
        shares_before: action.shares_before,
        ...choice,
        received: received?.identifier ?? null,
        received_ratio: received?.ratio ?? null,
      })),
    );

export const rebalancePack = createViewCommand({
  summary: 'List the orders that align accounts with an index, one per row. --out FILE.json writes the whole pack.',
  words: [INDEX],
  flags: {
    request: { type: 'string', value: 'FILE', help: 'Accounts, lots and costs as JSON; - reads standard input.' },
    aum: {
      type: 'number',
      value: 'MONEY',
      help: 'Amount of cash of an account that is added to the accounts of the file.',
    },
    'as-of': { type: 'string', value: 'DATE', help: 'Date. Default: the latest date.' },
  },
  examples: ['divisor rebalance-pack CORE-100 --aum 1e6', 'divisor rebalance-pack CORE-100 --request accounts.json'],
  async ask(client, [index_id = ''], flags) {
    const [file, aum, asOf] = [flags.text('request'), flags.number('aum'), flags.text('as-of')];
    const body: RebalancePackRequest = file === undefined ? {} : await readJsonFile<RebalancePackRequest>(file);
    return client.call('packRebalance', {
      params: { index_id },
      body: { ...body, ...(aum === undefined ? {} : { aum }), ...(asOf === undefined ? {} : { as_of: asOf }) },
    });
  },
  records: ({ accounts }) =>
    accounts.flatMap(({ name, trades }) => trades.map((trade) => ({ account: name, ...trade }))),
  notices: ({ findings }) => findings.map(({ code, message }) => `${code}: ${message}`),
});
