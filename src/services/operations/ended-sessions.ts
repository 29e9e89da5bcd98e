import { createHash } from 'node:crypto';
import type { DocumentStore, DocumentLookup } from '#store/port.js';

/** Browser session, with the data that is needed to end it. */
export interface EndingSession {
  readonly id: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** Expiry in milliseconds since 1970. */
  readonly ends: number;
}

/** Sessions that people ended by signing out. All processes that serve the same documents share them. */
export interface EndedSessions {
  has(session: EndingSession): boolean;
  /**
   * Ends a session. @returns when the record is on disk. @throws Refusal STORE_UNAVAILABLE; the session is then ended
   * only in this process
   */
  add(session: EndingSession): Promise<void>;
}

export interface EndedSessionsDependencies {
  readonly documents: DocumentStore;
  /** True for a read-only store. A sign-out then ends the session only in this process. */
  readonly isReadOnly: boolean;
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Maximum number of ended sessions that are stored for one person. One more sign-out ends all sessions of the person.
 */
const PERSON_SESSIONS_MAX = 16;
/** Maximum number of records that one sign-out deletes. The sessions in these records have expired. */
const FORGOTTEN_MAX = 64;

/** Ended sessions of one person. They are stored until these sessions would have expired. */
interface PersonSessions {
  readonly sessions: readonly { readonly id: string; readonly ends: number }[];
  /** All sessions that expire before this time are ended; 0 if there is no such time. */
  readonly all_until: number;
}

const NO_SESSIONS: PersonSessions = { sessions: [], all_until: 0 };

/**
 * Creates the service for ended sessions. It reads the records once and caches them. Events of other processes add the
 * sessions that ended there.
 */
export async function createEndedSessions({
  documents,
  isReadOnly,
  now,
}: EndedSessionsDependencies): Promise<EndedSessions> {
  const sessionsByPerson = new Map<string, PersonSessions>();

  async function readAgain(id: string): Promise<void> {
    const person = parsePerson(await documents.get('ended-sessions', id));
    if (person !== undefined) sessionsByPerson.set(id, person);
  }
  // If a record is unreadable, the next event of its person or the next start reads it again.
  documents.subscribe('session-ended', ({ person_id: id }) => void readAgain(id).catch(() => {}));
  const storedPersons = await documents.list('ended-sessions', (body, id) => [id, body as PersonSessions] as const);
  for (const [id, person] of storedPersons.documents) if (!sessionsByPerson.has(id)) sessionsByPerson.set(id, person);

  return {
    has({ id, subject, ends }) {
      const person = sessionsByPerson.get(getPerson(subject));
      return person !== undefined && (ends <= person.all_until || person.sessions.some((session) => session.id === id));
    },
    async add(session) {
      if (session.scopes.length === 0) return; // a session without scopes allows nothing
      const id = getPerson(session.subject);
      const nowMs = now();
      sessionsByPerson.set(id, addEnded(sessionsByPerson.get(id) ?? NO_SESSIONS, session, nowMs));
      if (isReadOnly) return;
      const expiredPersons = [...sessionsByPerson]
        .filter(([, person]) => computeRetentionEnd(person) <= nowMs)
        .slice(0, FORGOTTEN_MAX);
      await documents.transaction(async (tx) => {
        const personSessions = parsePerson(await tx.get('ended-sessions', id)) ?? NO_SESSIONS;
        await tx.put('ended-sessions', id, addEnded(personSessions, session, nowMs));
        for (const [old] of expiredPersons) {
          const person = parsePerson(await tx.get('ended-sessions', old));
          if (person !== undefined && computeRetentionEnd(person) <= nowMs) await tx.delete('ended-sessions', old);
        }
        tx.publish({ type: 'session-ended', person_id: id });
      });
      for (const [old, person] of expiredPersons)
        if (sessionsByPerson.get(old) === person) sessionsByPerson.delete(old);
    },
  };
}

/** Returns the id of a person's record. It is a hash, because a subject may contain any characters. */
const getPerson = (subject: string): string => createHash('sha256').update(subject).digest('hex');

const parsePerson = (storedDocument: DocumentLookup): PersonSessions | undefined =>
  storedDocument === undefined || 'unreadable' in storedDocument ? undefined : (storedDocument.body as PersonSessions);

function addEnded(person: PersonSessions, { id, ends }: EndingSession, now: number): PersonSessions {
  const otherSessions = person.sessions.filter((session) => session.id !== id && session.ends > now);
  if (otherSessions.length < PERSON_SESSIONS_MAX) return { ...person, sessions: [...otherSessions, { id, ends }] };
  const latestEnd = Math.max(person.all_until, ends, ...otherSessions.map((session) => session.ends));
  return { sessions: [], all_until: latestEnd };
}

/** Returns the time after which the record of a person is no longer needed. */
const computeRetentionEnd = ({ sessions, all_until: allUntil }: PersonSessions): number =>
  Math.max(allUntil, ...sessions.map(({ ends }) => ends));
