import type { Calendar, Calendars } from '../calendars/calendar.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import type { Day } from '../time/days.js';
import type { MarketData } from './market-data.js';
import { createReferenceSpells, findSpell } from './reference-spells.js';

/** Sessions of an exchange on the axis of the index calendar. */
export interface Exchange {
  /** 1 if the exchange was open, [S]. */
  readonly open: Uint8Array;
  /**
   * Number of sessions of the exchange up to and including each session of the axis, counted from an arbitrary origin,
   * [S].
   */
  readonly counted: Int32Array;
  /** Returns the number of sessions of the exchange after a day, up to and including a session of the axis. */
  countAfter(day: Day, session: number): number;
}

export interface ExchangesInput {
  readonly market: MarketData;
  readonly calendar: Calendar;
  readonly calendars: Calendars;
  readonly sessions: Int32Array;
}

/**
 * Returns the exchange of a security on a session. It is the value of the reference column EXCHANGE that was known on
 * that session, otherwise the exchange of the index calendar.
 */
export function createExchanges({
  market,
  calendar,
  calendars,
  sessions,
}: ExchangesInput): (session: number, column: number) => Exchange {
  const mainExchange: Exchange = placeOnAxis(calendar, sessions);
  const byCode = new Map<string, Exchange>([[calendar.code, mainExchange]]);
  const findExchange = (code: unknown): Exchange => {
    if (typeof code !== 'string') return mainExchange;
    let exchange = byCode.get(code);
    if (!exchange) {
      const entry = calendars.get(code);
      exchange = entry ? placeOnAxis(entry, sessions) : mainExchange;
      byCode.set(code, exchange);
    }
    return exchange;
  };
  const spells = createReferenceSpells(market, 'EXCHANGE');
  const constantExchanges = spells.map((list) => {
    if (list.length === 0) return mainExchange;
    return list.length === 1 && list[0]!.from === -Infinity ? findExchange(list[0]!.value) : undefined;
  });
  return (session, column) => constantExchanges[column] ?? findExchange(findSpell(spells[column]!, sessions[session]!));
}

/**
 * Places the sessions of a calendar on the axis. Outside its coverage, an exchange is assumed to follow the index
 * calendar.
 */
function placeOnAxis(calendar: Calendar, sessions: Int32Array): Exchange {
  const openSessions = new Uint8Array(sessions.length);
  const sessionCounts = new Int32Array(sessions.length);
  const { from, to } = calendar.coverage;
  let position = 0;
  let count = 0;
  for (let s = 0; s < sessions.length; s++) {
    const day = sessions[s]!;
    while (position < calendar.sessions.length && calendar.sessions[position]! < day) {
      if (s > 0 && calendar.sessions[position]! > sessions[s - 1]!) count++;
      position++;
    }
    const isCovered = day >= from && day <= to;
    const isOpen = isCovered ? calendar.sessions[position] === day : true;
    if (isOpen) {
      openSessions[s] = 1;
      count++;
    }
    sessionCounts[s] = count;
  }
  return {
    open: openSessions,
    counted: sessionCounts,
    countAfter(day, session) {
      const next = findFirstAtLeast(sessions, day);
      const isOnAxis = sessions[next] === day;
      if (isOnAxis || next > session) return sessionCounts[session]! - sessionCounts[Math.min(next, session)]!;
      const own = calendar.sessions;
      const isBeforeNext = sessions[next]! >= from && sessions[next]! <= to;
      const upToNext = isBeforeNext ? findLastAtMost(own, sessions[next]!) - findLastAtMost(own, day) : 1;
      return upToNext + sessionCounts[session]! - sessionCounts[next]!;
    },
  };
}
