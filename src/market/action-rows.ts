import { formatDay } from '#domain/days.js';
import { compareText } from '#domain/findings.js';
import { ACTION_KINDS, type ActionStatus, type ActionType, type CorporateAction } from '#domain/market/market-data.js';
import { notANumber, numberIn, textIn, type Cell } from './cells.js';
import { namedColumns } from './market-rows.js';
import { cellPath, type Problems } from './problems.js';
import { dateIn, identifierIn, type TableRows } from './reference-rows.js';

const TYPES = Object.keys(ACTION_KINDS);
const STATUSES = ['announced', 'paid', 'cancelled'];

/** Structural actions whose value is a ratio of shares and must be given. */
const SHARE_RATIOS: ReadonlySet<string> = new Set(['RIGHTS_ISSUE', 'SPIN_OFF', 'MERGER']);

export function createActionRows(problems: Problems): TableRows<readonly CorporateAction[]> {
  const actions: CorporateAction[] = [];
  const seen = new Set<string>();
  let rows = 0;

  function beginFile(label: string, written: readonly string[]) {
    const names = namedColumns('corporate_actions', label, written, problems);
    if (names === undefined) return undefined;
    let fileRow = 0;

    return (cells: readonly (Cell | undefined)[]) => {
      rows += 1;
      fileRow += 1;
      const cell = (name: string) => cells[names.indexOf(name)];
      const path = (name: string) => cellPath(label, fileRow, names.includes(name) ? written[names.indexOf(name)]! : name);
      const before = problems.errors;
      const identifier = identifierIn(cell('identifier'), path('identifier'), problems);
      const type = typeIn(cell('type'), path('type'), problems);
      const exDay = dateIn(cell('ex_date'), path('ex_date'), problems);
      if (exDay === null) problems.error({ code: 'BAD_DATE', path: path('ex_date'), message: 'The ex_date is empty.' });
      const value = type === undefined ? undefined : valueIn(type, cell('value'), path('value'), problems);
      const payDay = dateIn(cell('pay_date'), path('pay_date'), problems);
      const announcedDay = dateIn(cell('announced'), path('announced'), problems);
      const status = statusIn(cell('status'), path('status'), problems);
      const related = textIn(cell('related')) === null ? null : identifierIn(cell('related'), path('related'), problems);
      const subscriptionPrice = subscriptionIn(cell('subscription_price'), path('subscription_price'), problems);
      if (problems.errors > before) return;
      const action: CorporateAction = {
        identifier: identifier!, type: type!, value: value!, exDay: exDay!, payDay: payDay!, status: status!, announcedDay: announcedDay!,
        related: related!, subscriptionPrice: subscriptionPrice!,
      };
      const key = JSON.stringify([action.identifier, action.type, action.exDay, action.value, action.status, action.related]);
      if (seen.has(key)) {
        problems.error({ code: 'DUPLICATE_KEY', path: path(''), message: `An earlier row already holds the ${type} of ${identifier} on ${formatDay(exDay!)} with value ${value}.` });
        return;
      }
      seen.add(key);
      actions.push(action);
    };
  }

  return {
    beginFile,
    toTable: () => actions.toSorted(compareActions),
    get rows() {
      return rows;
    },
  };
}

/** The one order of actions: identifier, ex day, type, then whatever else tells two apart. */
export function compareActions(a: CorporateAction, b: CorporateAction): number {
  return (
    compareText(a.identifier, b.identifier) ||
    a.exDay - b.exDay ||
    compareText(a.type, b.type) ||
    a.value - b.value ||
    compareText(a.status ?? '', b.status ?? '') ||
    compareText(a.related ?? '', b.related ?? '')
  );
}

function typeIn(cell: Cell | undefined, path: string, problems: Problems): ActionType | undefined {
  const text = textIn(cell);
  if (text !== null && Object.hasOwn(ACTION_KINDS, text)) return text as ActionType; // the name was just looked up
  problems.error({ code: 'UNKNOWN_ACTION_TYPE', path, message: `${JSON.stringify(text)} is no action type; the accepted set is ${TYPES.join(', ')}.`, value: text, accepted: TYPES });
  return undefined;
}

function valueIn(type: ActionType, cell: Cell | undefined, path: string, problems: Problems): number | undefined {
  const value = numberIn(cell);
  const kind = ACTION_KINDS[type];
  if (value === undefined) {
    problems.error({ code: 'NOT_A_NUMBER', path, message: `The value is ${JSON.stringify(String(cell).slice(0, 80))}, which ${notANumber(String(cell))}.`, value: String(cell) });
    return undefined;
  }
  const isRatio = kind === 'ratio' || SHARE_RATIOS.has(type);
  if (isRatio && !(value > 0)) {
    problems.error({ code: 'BAD_RATIO', path, message: `The value of a ${type} is ${Number.isNaN(value) ? 'empty' : value}; a multiplier greater than 0 is needed.`, ...(Number.isNaN(value) ? {} : { value }) });
    return undefined;
  }
  if (Number.isNaN(value)) {
    // A delisting, an acquisition or a change of ticker need not say what a share was paid.
    if (kind === 'structural') return 0;
    problems.error({ code: 'NOT_A_NUMBER', path, message: `The value of a ${type} is empty; an amount per share is needed.` });
    return undefined;
  }
  if (value < 0) {
    problems.error({ code: 'OUT_OF_RANGE', path, message: `The value of a ${type} is ${value}; at least 0 is needed.`, value });
    return undefined;
  }
  return value + 0;
}

function statusIn(cell: Cell | undefined, path: string, problems: Problems): ActionStatus | null | undefined {
  const text = textIn(cell);
  if (text === null) return null;
  if (STATUSES.includes(text)) return text as ActionStatus; // one of the three, just checked
  problems.error({ code: 'NOT_IN_CHOICES', path, message: `The status is ${JSON.stringify(text)}; the accepted set is ${STATUSES.join(', ')}.`, value: text, accepted: STATUSES });
  return undefined;
}

function subscriptionIn(cell: Cell | undefined, path: string, problems: Problems): number | null | undefined {
  const value = numberIn(cell);
  if (value !== undefined && Number.isNaN(value)) return null;
  if (value !== undefined && value >= 0) return value + 0;
  problems.error({ code: value === undefined ? 'NOT_A_NUMBER' : 'OUT_OF_RANGE', path, message: `The subscription_price is ${JSON.stringify(String(cell))}; a price of at least 0 is needed.`, value: String(cell) });
  return undefined;
}
