/** Accounts of a part: a second or two of work, so that little is lost with a node. */
const PART_ACCOUNTS = 25;

/** Returns the first account of each part, and one after the last. */
export function partCuts(accounts: number): number[] {
  const cuts = [];
  for (let at = 0; at < accounts; at += PART_ACCOUNTS) cuts.push(at);
  return [...cuts, accounts];
}
