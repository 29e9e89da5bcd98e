/** Documents that a client may use: those whose ids begin with one of its prefixes, and shared documents. */
export interface Reach {
  readonly prefixes: readonly string[];
  /** Documents of other clients that the client may read, as `kind/id`. */
  readonly shared: ReadonlySet<string>;
  /** True if documents outside the prefixes are reported as absent. */
  readonly isHidden: boolean;
}

/** Form of a prefix, the beginning of ids. */
export const PREFIX_PATTERN = /^[A-Za-z0-9_-]{1,32}$/;
/** Maximum number of prefixes per client. */
export const PREFIXES_MAX = 16;

export const isWithin = ({ prefixes }: Pick<Reach, 'prefixes'>, id: string): boolean =>
  prefixes.some((prefix) => id.startsWith(prefix));

/** Returns true if a client may read a document: within its prefixes, or shared with it. */
export const mayRead = (reach: Reach, kind: string, id: string): boolean =>
  isWithin(reach, id) || reach.shared.has(`${kind}/${id}`);

/** Returns true if two clients have access to the same documents. Undefined means all documents. */
export function isSameReach(a: Reach | undefined, b: Reach | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.prefixes.join() === b.prefixes.join() &&
    a.shared.size === b.shared.size &&
    [...a.shared].every((name) => b.shared.has(name))
  );
}
