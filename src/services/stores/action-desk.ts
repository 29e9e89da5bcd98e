import type {
  actionDeskRoutes,
  DeskAction,
  DeskActions,
  DeskDecisionRequest,
  ListedDeskAction,
} from '#contract/action-desk.js';
import type { QueryOf } from '#contract/route.js';
import { createHash } from 'node:crypto';
import { findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import {
  type ActionDecision,
  ActionDecisions,
  type AffectedIndex,
  compareSources,
  type DeskActionEffect,
  type DeskState,
  findDeskState,
  listFlags,
  readTerms,
} from '#domain/definition/action-desk.js';
import type { Authorship } from '#domain/definition/versions.js';
import { type CorporateAction, type MarketData, readReference } from '#domain/market/market-data.js';
import { getLookup, type ServedMarket } from '#market/serve/served-markets.js';
import { type DocumentReader, formatTimestamp, parseStored } from '#store/port.js';
import type { Context } from '../shared/context.js';

export interface ExDates {
  readonly from: string;
  readonly to: string;
}

interface AffectedIndices {
  /** Indices by security and ex-date (`formatActionKey`), those with the largest weights first. */
  readonly byAction: ReadonlyMap<string, readonly AffectedIndex[]>;
  readonly unread: number;
}

/** Effects of corporate actions on the newest stored run of each index. */
export interface ActionEffects {
  read(identifier: string, exDate: string, signal: AbortSignal): Promise<readonly DeskActionEffect[]>;
  list(dates: ExDates, signal: AbortSignal): Promise<AffectedIndices>;
}

export const formatActionKey = (identifier: string, exDate: string): string => `${exDate} ${identifier}`;

export type DeskQuery = QueryOf<typeof actionDeskRoutes.listActions>;

/** Default window of the list: days before and after the last session. */
const PAST_DAYS = 10;
const COMING_DAYS = 90;

/** Maximum number of actions in a period whose indices are listed. They are up to 1 MB for each index. */
const AFFECTING_MAX = 2000;

/** Corporate actions of the served store, with the decisions that people made about them. */
export function createActionDesk(context: Context, effects: ActionEffects) {
  const { documents, markets, calendars, approvals, now } = context;

  async function describeAction(action: CorporateAction, servedMarket: ServedMarket, id: string): Promise<DeskAction> {
    const { market } = servedMarket;
    const terms = readTerms(action);
    const decisions = await readActionDecisions(documents, id);
    const last = decisions.at(-1);
    return {
      action_id: id,
      ...terms,
      status: action.status,
      announced: action.announcedDay === null ? null : formatDay(action.announcedDay),
      state: findDeskState(terms, last),
      flags: [
        ...listFlags(action, createFlagTerms(action, market, calendars)),
        ...compareSources(terms, last?.sources ?? []),
      ],
      decisions: [...decisions],
    };
  }

  function findAction(actionId: string): { readonly action: CorporateAction; readonly served: ServedMarket } {
    const servedMarket = markets.require();
    const action = servedMarket.market.actions.find(
      (corporateAction) => computeActionId(servedMarket.identity.datasetId, corporateAction) === actionId,
    );
    if (action !== undefined) return { action, served: servedMarket };
    throw new Refusal(
      'ACTION_NOT_FOUND',
      `The data store ${servedMarket.identity.datasetId} has no corporate action ${actionId}.`,
      {
        action_id: actionId,
      },
    );
  }

  return {
    /** Lists actions by ex-date and security. @throws Refusal NO_DATA_SOURCE */
    async list(
      { from, to, state, identifier, flagged, indices, limit }: DeskQuery,
      signal: AbortSignal,
    ): Promise<DeskActions> {
      const servedMarket = markets.require();
      const { market, identity } = servedMarket;
      const last = market.dates.at(-1) ?? 0;
      const firstDay = from === undefined ? last - PAST_DAYS : parseValidDay(from);
      const end = to === undefined ? last + COMING_DAYS : parseValidDay(to);
      const corporateActions = market.actions
        .filter(
          ({ exDay, identifier: security }) =>
            exDay >= firstDay && exDay <= end && (identifier ?? security) === security,
        )
        .toSorted((a, b) => a.exDay - b.exDay || (a.identifier < b.identifier ? -1 : 1));
      const actions: DeskAction[] = [];
      let total = 0;
      for (const action of corporateActions) {
        const deskAction = await describeAction(action, servedMarket, computeActionId(identity.datasetId, action));
        if ((state !== undefined && deskAction.state !== state) || (flagged && deskAction.flags.length === 0)) continue;
        total++;
        if (actions.length < limit) actions.push(deskAction);
      }
      const affected = indices ? await readAffected(actions, { market, effects, signal }) : null;
      return {
        actions: actions.map((action) => addIndices(action, affected)),
        total,
        indices_unread: affected?.unread ?? null,
      };
    },
    /** Returns an action and its effect on each index. @throws Refusal NO_DATA_SOURCE, ACTION_NOT_FOUND */
    async get(
      actionId: string,
      signal: AbortSignal,
    ): Promise<DeskAction & { readonly effects: readonly DeskActionEffect[] }> {
      const { action, served } = findAction(actionId);
      const deskAction = await describeAction(action, served, actionId);
      return { ...deskAction, effects: [...(await effects.read(deskAction.identifier, deskAction.ex_date, signal))] };
    },
    /** Records a decision about an action. @throws Refusal NO_DATA_SOURCE, ACTION_NOT_FOUND, APPROVAL_REQUIRED */
    async decide(
      actionId: string,
      { decision, sources, comment }: DeskDecisionRequest,
      authorship: Authorship,
      signal: AbortSignal,
    ): Promise<DeskAction> {
      const { action, served } = findAction(actionId);
      const terms = readTerms(action);
      const { author, keyId = null } = authorship;
      const newDecision: ActionDecision = {
        decision,
        terms,
        sources,
        comment,
        author,
        key_id: keyId,
        at: formatTimestamp(now()),
      };
      const needsApproval = approvals.getRule('action') !== undefined;
      const summary = `${VERBS[decision]} the ${terms.type} of ${terms.identifier} on ${terms.ex_date}.`;
      const proposedChange = {
        action: 'action',
        subject: served.identity.datasetId,
        content: { action_id: actionId, decision, terms, sources },
        summary,
        facts: {
          kind: 'action',
          store_id: served.identity.datasetId,
          action_id: actionId,
          decision,
          terms,
          sources,
          differences: compareSources(terms, sources),
          // Effects are computed only if a person must decide, because every index that holds the security is read.
          effects: needsApproval ? [...(await effects.read(terms.identifier, terms.ex_date, signal))] : [],
        },
      } as const;
      const noteAuthorship = { ...authorship, note: comment ?? authorship.note };
      await approvals.guarded(noteAuthorship, ({ admit }) =>
        documents.transaction(
          async (tx) => {
            await admit(tx, proposedChange);
            const decisions = await readActionDecisions(tx, actionId);
            await tx.put('action-decision', actionId, {
              decisions: [...decisions, newDecision],
            } satisfies ActionDecisions);
          },
          { by: noteAuthorship },
        ),
      );
      return describeAction(action, served, actionId);
    },
  };
}

/** Returns the indices that listed actions affect; null if their period contains too many actions. */
async function readAffected(
  actions: readonly DeskAction[],
  {
    market,
    effects,
    signal,
  }: { readonly market: MarketData; readonly effects: ActionEffects; readonly signal: AbortSignal },
): Promise<AffectedIndices | null> {
  const [from, to] = [actions[0]?.ex_date, actions.at(-1)?.ex_date];
  if (from === undefined || to === undefined) return NO_INDICES;
  const [start, end] = [parseValidDay(from), parseValidDay(to)];
  const count = market.actions.filter(({ exDay }) => exDay >= start && exDay <= end).length;
  return count > AFFECTING_MAX ? null : effects.list({ from, to }, signal);
}

const addIndices = (action: DeskAction, affected: AffectedIndices | null): ListedDeskAction => ({
  ...action,
  indices: affected && [...(affected.byAction.get(formatActionKey(action.identifier, action.ex_date)) ?? [])],
});

const NO_INDICES: AffectedIndices = { byAction: new Map(), unread: 0 };

const VERBS = { confirmed: 'Confirm', rejected: 'Reject', reopened: 'Reopen' } as const;

/**
 * Returns the id of an action of a store. Two actions with the same security, type, ex-date and related security have
 * the same id.
 */
export function computeActionId(storeId: string, { identifier, type, exDay, related }: CorporateAction): string {
  const actionKey = JSON.stringify([storeId, identifier, type, exDay, related]);
  return createHash('sha256').update(actionKey).digest('hex').slice(0, 20);
}

/** Returns the decisions about an action, earliest first. */
export async function readActionDecisions(
  reader: Pick<DocumentReader, 'get'>,
  actionId: string,
): Promise<readonly ActionDecision[]> {
  const storedDocument = await reader.get('action-decision', actionId);
  return parseStored(storedDocument, ActionDecisions)?.decisions ?? [];
}

export async function readDeskState(
  reader: Pick<DocumentReader, 'get'>,
  storeId: string,
  action: CorporateAction,
): Promise<DeskState> {
  return findDeskState(readTerms(action), (await readActionDecisions(reader, computeActionId(storeId, action))).at(-1));
}

function createFlagTerms(action: CorporateAction, market: MarketData, calendars: Calendars) {
  const lookup = getLookup(market);
  const { identifier, exDay } = action;
  const code = readReference(market.reference, identifier, 'EXCHANGE', exDay);
  const exchange = typeof code === 'string' ? calendars.get(code) : undefined;
  return {
    others: lookup.actionsOf(identifier),
    // If the exchange is unknown, every day from Monday to Friday counts as a session.
    isSession: (day: Day) => (exchange === undefined ? isWeekday(day) : exchange.isSession(day)),
    closeBefore: findCloseBefore(market, identifier, exDay),
    isKnown: (other: string) => lookup.holds(other),
  };
}

/** Returns true from Monday to Friday; day 0, 1970-01-01, was a Thursday. */
const isWeekday = (day: Day): boolean => (((day + 3) % 7) + 7) % 7 < 5;

function findCloseBefore(market: MarketData, identifier: string, exDay: Day): number {
  const column = getLookup(market).positionOf(identifier);
  if (column === undefined) return Number.NaN;
  const close = market.fields.get('CLOSE')!;
  for (let row = findLastAtMost(market.dates, exDay - 1); row >= 0; row--) {
    const price = close[row * market.identifiers.length + column]!;
    if (!Number.isNaN(price)) return price;
  }
  return Number.NaN;
}
